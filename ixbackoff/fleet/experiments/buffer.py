"""The disk buffer of "The Ethernet Approach to Grid Computing" (Thain and Livny, HPDC 2003)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ixbackoff import Do, NotReady, attempt
from ixbackoff.fleet import Disk, Outcome
from ixbackoff.fleet.services.disk import FreeSpace, WriteFile

from ..._argument_parser import Flag, number, whole
from ...plotting.styles import line_style
from ..drawing import Graph, Panel, Picture
from ..reports import Numbers
from .ethernet import ClientKind, kinds
from .experiment import Cells, Experiment

PRODUCERS = (5, 10, 20, 30, 40, 50)
SECONDS = 100
THINK = 1.0  # mean seconds between two files of a producer


@attempt
def sensed() -> Do[FreeSpace | WriteFile, None]:
    """Measure the space before writing, as the paper's Ethernet producer does.

    The producer does not know the sizes of unfinished files, and assumes the mean size for each.
    """
    disk = yield from FreeSpace()
    if disk.free < (disk.unfinished + 1) * disk.mean:
        raise NotReady(f"{disk.free:.1f} MB are free, and {disk.unfinished} files are unfinished")
    yield from WriteFile()


KINDS: dict[str, ClientKind[FreeSpace | WriteFile]] = kinds(WriteFile(), WriteFile(), sensed())
"""The paper's kinds of producers."""


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
    producers: Iterable[int] = PRODUCERS,
    *,
    seconds: float = SECONDS,
    disk: Disk | None = None,
    seed: int = 0,
) -> list[Buffered]:
    """Simulate each kind with each number of producers, who write one file after the other."""
    model = disk or Disk()
    return [simulated(many, kind, model, seconds, seed) for many in producers for kind in KINDS]


def simulated(many: int, kind: str, disk: Disk, seconds: float, seed: int) -> Buffered:
    consumed: list[float] = []
    shared = disk.consumed_by(consumed.append)
    services = shared.serves(WriteFile) | shared.serves(FreeSpace)
    outcome = KINDS[kind].simulated(services, many, seconds, THINK, seed)
    collisions = int(outcome.total(lambda second: second.failed))
    return Buffered(many, kind, len(consumed), sum(consumed), collisions, outcome)


def modelled(*, speed: float, **how: Any) -> list[Buffered]:
    return buffered(disk=Disk(speed=speed), **how)


def rows(results: Sequence[Buffered]) -> list[Cells]:
    return [
        {
            "producers": many,
            **{f"MB/s consumed | {result.kind}": f"{result.rate:.2f}" for result in some},
            **{f"files consumed | {result.kind}": result.files for result in some},
            **{f"collisions | {result.kind}": result.collisions for result in some},
        }
        for many in dict.fromkeys(result.producers for result in results)
        for some in [[result for result in results if result.producers == many]]
    ]


def picture(results: Sequence[Buffered]) -> Picture:
    consumed: dict[str, Graph] = {}
    collisions: dict[str, Graph] = {}
    for index, kind in enumerate(KINDS):
        some = [result for result in results if result.kind == kind]
        many, style = [result.producers for result in some], line_style(index)
        consumed[kind] = Graph(many, [result.rate for result in some], style)
        collisions[kind] = Graph(many, [result.collisions for result in some], style)
    panels = [
        Panel("consumed, MB/s", consumed, x="producers", limits=(0, None)),
        Panel("collisions, in all", collisions, x="producers", scale="symlog"),
    ]
    return Picture(
        "The more producers share a full disk: what is consumed, and collisions", [panels]
    )


def numbers(result: Buffered) -> tuple[str, Numbers]:
    name = f"{result.producers:9}  {result.kind:8}"
    return name, {"files consumed": result.files, "collisions": result.collisions}


EXPERIMENT = Experiment(
    "buffer",
    'The disk buffer of "The Ethernet Approach to Grid Computing": how much is consumed, and how '
    "often a write finds the disk full. Producers retry immediately (fixed), with exponential "
    "waits (aloha), or measure the free space first (ethernet).",
    modelled,
    [
        Flag("producers", PRODUCERS, whole(1, 1000), "the number of producers"),
        Flag(
            "speed",
            Disk().speed,
            number(0.1, 1e6),
            "MB that the disk reads and writes per second in all",
            "MB",
        ),
        Flag("seconds", SECONDS, whole(1, 86_400), "the length of a simulation", "SECONDS"),
    ],
    rows,
    picture,
    numbers,
)
