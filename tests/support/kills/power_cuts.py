"""Cutting the power under squirrels at random moments, and checking what is on the disk afterwards.

`python -m tests.support.kills.power_cuts` does it for long, and `make kill` does that.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import ClassVar, NamedTuple

import pytest

from ixbackoff.testing.web import Origin

from ..squirrels.running import rows_of
from .disks import Powered, powered_disk
from .killing import Report, told
from .squirrels import JOBS, KillingSquirrels, etag_of

SIZE = "256m"
WAYS = {"as usual": "", "metadata before data": "data=writeback,nodelalloc"}
"""Options of ext4. With the second ones a file without a sync has its size, but not its bytes."""


@dataclass
class PowerCuts(KillingSquirrels):
    """Cuts the power of the disk that a squirrel's folder is on, in place of a kill.

    Each record of the index has its whole object afterwards, and so has each resource that the
    squirrel reported as kept.

    Args:
        disk: the disk.
    """

    what: ClassVar[str] = "power cuts"
    disk: Powered = field(kw_only=True)
    starts: int = 0
    bodies: dict[str | None, bytes] = field(default_factory=dict[str | None, bytes])

    @property
    def program(self) -> list[str]:
        return ["-m", "tests.support.kills.restarted", f"start {self.starts}", self.mistake]

    def strike(self, process: subprocess.Popen[str]) -> None:
        if process.poll() is None:
            self.disk.cut_power()
            process.kill()

    def struck(self, out: str, served: dict[str, bytes]) -> None:
        """Look at what is on the disk after the restart."""
        self.disk.restart()
        self.starts += 1
        objects = self.kept.objects()
        for row in rows_of(self.index):
            if objects.get(row.key) != self.bodies[row.etag]:
                found = len(objects.get(row.key, b""))
                self.broke(f"a record of {row.size} bytes, and {found} or others are there")
        super().struck(out, served)

    def served(self, urls: list[str], origin: Origin) -> dict[str, bytes]:
        served = super().served(urls, origin)
        self.bodies |= {etag_of(body): body for body in served.values()}
        return served


def cuts(
    place: Path, seed: int, number: int, options: str, mistake: str = "", durable: bool = False
) -> Report:
    """Cut the power `number` times, or until a mistake is found."""
    words = ["--durable"] if durable else []
    with powered_disk(place, SIZE, options) as disk:
        folder = disk.folder / "squirrel"
        return PowerCuts(folder, seed, mistake=mistake, words=words, disk=disk).until(number)


class Part(NamedTuple):
    """A part of the long run.

    Attributes:
        number: how many power cuts.
        way: a name in `WAYS`.
        mistake: the name of one that the squirrels have.
        durable: whether they are durable.
    """

    number: int
    way: str
    mistake: str = ""
    durable: bool = False

    @property
    def name(self) -> str:
        who = f"{'durable ' * self.durable}squirrels with {JOBS} jobs"
        return f"{who}, ext4 {self.way}{', with a mistake: ' * bool(self.mistake)}{self.mistake}"

    def cut(self, seed: int) -> Report:
        with tempfile.TemporaryDirectory() as folder:
            disk = Path(folder) / "disk"
            return cuts(disk, seed, self.number, WAYS[self.way], self.mistake, self.durable)


USUAL, WORST = WAYS
PARTS = [
    Part(30, USUAL),
    Part(50, WORST),
    Part(20, WORST, durable=True),
    Part(20, USUAL, "nothing is synced"),
    Part(20, WORST, "nothing is synced"),
]


def main() -> int:
    try:
        done = [
            told(part.name, partial(part.cut, seed), "" if part.mistake else None)
            for seed, part in enumerate(PARTS)
        ]
    except pytest.skip.Exception as skipped:
        print(f"No power was cut: {skipped}.")
        return 0
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main())
