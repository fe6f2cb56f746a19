"""Time of mypy on a file with a program over that on a file without one, with a filled cache."""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from .measuring import Target, cpu_seconds

ROUNDS = 5
IMPORTS = "from ixbackoff import N1, N3, N20, Log, at, do\n"


def chain(steps: int) -> str:
    """Write a chain of `steps` steps."""
    links = (
        ".do(Log('x'))",
        ".then(lambda _: Log('y'))",
        ".map(lambda _: 1)",
        ".or_else(Log('z'))",
    )
    return "program = at(N3)" + "".join(links[step % 4] for step in range(steps)) + ".end()\n"


def nested_binds(depth: int) -> str:
    """Write `depth` binds, each in the lambda of the one around it."""
    inner = "at(N3).do(Log('x'))"
    for _ in range(depth):
        inner = f"at(N3).do(Log('x')).bind(lambda _: {inner})"
    return f"program = {inner}.end()\n"


def ladder(rungs: int) -> str:
    """Write a ladder with a wait on every rung."""
    return f"program = at(N{rungs})" + ".do(Log('x')).backoff()" * rungs + ".or_else(Log('y'))\n"


CASES = {
    "no program": "program = [1, 2, 3]\n",
    "a chain of 200 steps": chain(200),
    "8 nested bind lambdas": nested_binds(8),
    "a ladder of 20 rungs": ladder(20),
}


def targets() -> list[Target]:
    times: dict[str, list[float]] = {name: [] for name in CASES}
    with TemporaryDirectory() as folder:
        cache = f"--cache-dir={folder}/cache"
        for turn in range(ROUNDS + 1):
            for name, text in CASES.items():
                # A new file each time, so that only the library comes from the cache.
                file = Path(folder, f"case_{turn}_{len(name)}.py")
                file.write_text(IMPORTS + text)
                taken = cpu_seconds([sys.executable, "-m", "mypy", "--strict", cache, str(file)])
                if turn:  # the first turn fills the cache
                    times[name].append(taken)
    without = median(times.pop("no program"))
    return [
        Target(
            f"mypy on {name}, over a file without a program",
            median(taken) / without,
            4,
            False,
            f"{median(taken):.2f} s and {without:.2f} s",
        )
        for name, taken in times.items()
    ]
