"""The disk buffer of "The Ethernet Approach to Grid Computing" (Thain and Livny, HPDC 2003).

How much is consumed, and how often a write finds the disk full. Producers retry immediately
(fixed), with exponential waits (aloha), or measure the free space first (ethernet).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Annotated, NamedTuple

from ixbackoff import Do, NotReady, attempt
from ixbackoff._argument_parser import number, whole
from ixbackoff.fleet import Outcome

from ..drawing import Panel, Picture, by_size
from .ethernet import NOTE, ClientKind, kinds
from .experiment import Cells, Experiment, Shown
from .services.disk import Disk, FreeSpace, WriteFile

PRODUCERS = (5, 10, 20, 30, 40, 50)
THINK = 1.0  # mean seconds between two files of a producer


@attempt
def sensed() -> Do[FreeSpace | WriteFile, None]:
    """Measure the space before writing, as the paper's Ethernet producer does.

    The producer does not know the sizes of unfinished files, and assumes the mean size for each. It
    wants space for its own file, whatever its size is.
    """
    disk = yield from FreeSpace()
    if disk.free < disk.unfinished * disk.mean + Disk.largest:
        raise NotReady(f"{disk.free:.1f} MB are free, and {disk.unfinished} files are unfinished")
    yield from WriteFile()


KINDS: dict[str, ClientKind[FreeSpace | WriteFile]] = kinds(WriteFile(), WriteFile(), sensed())


class Buffered(NamedTuple):
    producers: int
    kind: str
    files: int  # the number of files that the consumer has read
    megabytes: float  # their size, MB
    collisions: int  # the number of writes that found the disk full
    outcome: Outcome  # the simulation; its load is the MB on the disk

    @property
    def rate(self) -> float:
        """The MB per second that the consumer has read."""
        return self.megabytes / len(self.outcome.seconds)


def buffered(
    producers: Annotated[Iterable[int], whole(1, 1000), "the number of producers"] = PRODUCERS,
    *,
    seconds: Annotated[float, whole(1, 86_400), "the length of a simulation", "SECONDS"] = 100,
    speed: Annotated[
        float, number(0.1, 1e6), "MB that the disk reads and writes per second in all", "MB"
    ] = Disk.speed,
    disk: Disk | None = None,
    seed: int = 0,
) -> list[Buffered]:
    """Simulate each kind with each number of producers, who write one file after the other."""
    model = disk or Disk(speed=speed)
    return [simulated(many, kind, model, seconds, seed) for many in producers for kind in KINDS]


def simulated(many: int, kind: str, disk: Disk, seconds: float, seed: int) -> Buffered:
    consumed: list[float] = []
    shared = replace(disk, consumed=consumed.append)
    services = shared.serves(WriteFile) | shared.serves(FreeSpace)
    outcome = KINDS[kind].simulated(services, many, seconds, seed, THINK)
    collisions = int(outcome.total(lambda second: second.failed))
    return Buffered(many, kind, len(consumed), sum(consumed), collisions, outcome)


def row(result: Buffered) -> Cells:
    return {
        "producers": result.producers,
        f"MB/s consumed | {result.kind}": Shown(result.rate, "{:.2f}"),
        f"files consumed | {result.kind}": result.files,
        f"collisions | {result.kind}": result.collisions,
    }


def picture(results: Sequence[Buffered]) -> Picture:
    consumed = by_size((result.kind, result.producers, result.rate) for result in results)
    collisions = by_size((result.kind, result.producers, result.collisions) for result in results)
    seconds = len(results[0].outcome.seconds)
    panels = [
        Panel("consumed, MB/s", consumed, x="producers", limits=(0, None)),
        Panel(f"collisions in {seconds} s", collisions, x="producers", scale="symlog"),
    ]
    headline = "On a full disk, producers that look first hardly collide and feed the consumer best"
    note = NOTE + "first looks for free space. Collision: no space for a file."
    return Picture(headline, [panels], note=note)


EXPERIMENT = Experiment(buffered, row, picture)
