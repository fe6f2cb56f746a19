"""What the ways to kill processes share: chance, a report, and lines that tell of a long run."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

MOST_TOLD = 160  # characters of a mistake that is found


@dataclass
class Report:
    """What was found: counts, and each broken promise as a sentence."""

    counts: Counter[str] = field(default_factory=Counter[str])
    broken: list[str] = field(default_factory=list[str])

    def __str__(self) -> str:
        counted = ", ".join(f"{number} {name}" for name, number in self.counts.items() if number)
        return "\n".join([counted, *self.broken, "BROKEN" if self.broken else "as promised"])


@dataclass
class Killing:
    """Kills processes that work in a folder, and checks what they leave.

    Args:
        folder: where they work.
        seed: decides when the kills come.
    """

    folder: Path
    seed: int
    report: Report = field(default_factory=Report, init=False)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)  # noqa: S311

    def broke(self, sentence: str) -> None:
        self.report.broken.append(sentence)


def told(name: str, kill: Callable[[], Report], mistake: str | None = None) -> bool:
    """Kill, and print what was found; return true if that is as it should be.

    Args:
        name: what is printed before it.
        kill: kills, and checks.
        mistake: words of the broken promise that has to be found, if something is broken on
            purpose.
    """
    begun = time.monotonic()
    report = kill()
    took = f"{name} ({time.monotonic() - begun:.0f} s)"
    if mistake is None:
        print(f"{took}: {report}", flush=True)
        return not report.broken
    found = [one for one in report.broken if mistake in one]
    print(f"{took}: {found[0][:MOST_TOLD] if found else 'NOT FOUND'}", flush=True)
    return bool(found)
