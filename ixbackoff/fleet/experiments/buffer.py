"""Producers write files to a disk that fills up, faster than a consumer reads them.

The disk buffer of "The Ethernet Approach to Grid Computing" (Thain and Livny, HPDC 2003).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ixbackoff import (
    FOREVER,
    N0,
    Attempt,
    Constant,
    Delay,
    Do,
    NotReady,
    Program,
    at,
    attempt,
    do,
)
from ixbackoff.fleet import Disk, Outcome, simulate
from ixbackoff.fleet.services.disk import FreeSpace, WriteFile
from ixbackoff.schedules import Schedule
from ixbackoff.schedules.published import fault_tolerant_shell

from ..._commandline import number, whole
from ...plotting.styles import line_style
from ..drawing import Graph, Panel, Picture
from ..flags import Flag
from ..reports import Numbers
from .experiment import Cells, Experiment

PRODUCERS = (5, 10, 20, 30, 40, 50)
SECONDS = 100
THINK = 1.0  # mean seconds between two files of a producer


unsensed: Attempt[WriteFile, None] = do(WriteFile())


@attempt
def sensed() -> Do[FreeSpace | WriteFile, None]:
    """Measure the space before writing, as the Ethernet producer does.

    It does not know the sizes of unfinished files, and assumes the mean size for each.
    """
    disk = yield from FreeSpace()
    if disk.free < (disk.unfinished + 1) * disk.mean:
        raise NotReady(f"{disk.free:.1f} MB are free, and {disk.unfinished} files are unfinished")
    yield from WriteFile()


class Producer(NamedTuple):
    """A kind of producer.

    Attributes:
        program: the program for one file.
        schedule: its waits.
    """

    program: Program[FOREVER, N0, None, FreeSpace | WriteFile | Delay]
    schedule: Schedule


KINDS = {
    "fixed": Producer(at(FOREVER).retry(unsensed), Constant(0.0)),
    "aloha": Producer(at(FOREVER).retry(unsensed), fault_tolerant_shell),
    "ethernet": Producer(at(FOREVER).retry(sensed()), fault_tolerant_shell),
}
"""The kinds of the paper: retry immediately; retry with its shell's waits; the same, but measure
the free space first."""


class Buffered(NamedTuple):
    """The results of one kind of producers.

    Attributes:
        producers: the number of producers.
        kind: the name of the kind.
        files: the consumed files.
        megabytes: the consumed MB.
        collisions: the writes that found the disk full.
        outcome: the simulation; its load is the MB on the disk.
    """

    producers: int
    kind: str
    files: int
    megabytes: float
    collisions: int
    outcome: Outcome

    @property
    def rate(self) -> float:
        """The consumed MB per second."""
        return self.megabytes / len(self.outcome.seconds)


def buffered(
    producers: Iterable[int] = PRODUCERS,
    *,
    seconds: float = SECONDS,
    disk: Disk | None = None,
    seed: int = 0,
) -> list[Buffered]:
    """Simulate each kind with each number of producers, who write one file after the other.

    >>> [one.collisions for one in buffered([5], seconds=20)]
    [0, 0, 0]

    The other arguments are the flags of the command.

    Args:
        disk: a disk with other numbers.

    Raises:
        ValueError: a number of producers, or `seconds`, is not above 0.
    """
    model = disk or Disk()
    return [written(many, kind, model, seconds, seed) for many in producers for kind in KINDS]


def written(many: int, kind: str, disk: Disk, seconds: float, seed: int) -> Buffered:
    """Simulate one kind of producers."""
    consumed: list[float] = []
    shared = disk.consumed_by(consumed.append)
    program, schedule = KINDS[kind]
    outcome = simulate(
        program,
        shared.serves(WriteFile) | shared.serves(FreeSpace),
        clients=many,
        seconds=seconds,
        schedule=schedule,
        think=THINK,
        seed=seed,
    )
    collisions = int(outcome.total(lambda second: second.failed))
    return Buffered(many, kind, len(consumed), sum(consumed), collisions, outcome)


def modelled(*, speed: float, **how: Any) -> list[Buffered]:
    """Simulate with a disk of this speed."""
    return buffered(disk=Disk(speed=speed), **how)


def rows(results: Sequence[Buffered]) -> list[Cells]:
    return [
        {
            "producers": many,
            **{f"MB/s consumed | {one.kind}": f"{one.rate:.2f}" for one in some},
            **{f"files consumed | {one.kind}": one.files for one in some},
            **{f"collisions | {one.kind}": one.collisions for one in some},
        }
        for many in dict.fromkeys(one.producers for one in results)
        for some in [[one for one in results if one.producers == many]]
    ]


def picture(results: Sequence[Buffered]) -> Picture:
    """Return the consumption and the collisions over the number of producers."""
    consumed: dict[str, Graph] = {}
    collisions: dict[str, Graph] = {}
    for place, kind in enumerate(KINDS):
        some = [one for one in results if one.kind == kind]
        many, style = [one.producers for one in some], line_style(place)
        consumed[kind] = Graph(many, [one.rate for one in some], style)
        collisions[kind] = Graph(many, [one.collisions for one in some], style)
    panels = [
        Panel("consumed, MB/s", consumed, x="producers", limits=(0, None)),
        Panel("collisions, in all", collisions, x="producers", scale="symlog"),
    ]
    return Picture(
        "The more producers share a full disk: what is consumed, and collisions", [panels]
    )


def numbers(results: Sequence[Buffered]) -> Numbers:
    return {
        f"{one.producers:9}  {one.kind:8}  {name}": number
        for one in results
        for name, number in {"files consumed": one.files, "collisions": one.collisions}.items()
    }


EXPERIMENT = Experiment(
    "buffer",
    'The disk buffer of "The Ethernet Approach to Grid Computing": how much is consumed, and how '
    "often a write finds the disk full, with producers that retry immediately (fixed), with "
    "exponential waits (aloha), and that measure the free space before (ethernet).",
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
