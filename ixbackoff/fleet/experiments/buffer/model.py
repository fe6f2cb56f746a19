"""Producers write files to a disk that gets full, faster than they are consumed.

The disk buffer of "The Ethernet Approach to Grid Computing" (Thain and Livny, HPDC 2003).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ...._words.failures import NotReady
from ...._words.nat import FOREVER, Forever, Z
from ...._words.vocabulary import Delay
from ...._writing.attempts import Attempt, Do, attempt, do
from ...._writing.programs import Program, at
from ....schedules.kinds import Constant, Schedule
from ....schedules.published import fault_tolerant_shell
from ...outcomes import Outcome
from ...simulation import simulate
from .disk import Disk, Look, WriteFile

PRODUCERS = (5, 10, 20, 30, 40, 50)
SECONDS = 100
THINK = 1.0  # seconds between two files of a producer, in the mean


unsensed: Attempt[WriteFile, None] = do(WriteFile())


@attempt
def sensed() -> Do[Look | WriteFile, None]:
    """Look before writing: the Ethernet producer.

    The size of an unfinished file is not known, so each is taken to be of mean size.
    """
    disk = yield from Look()
    if disk.free < (disk.unfinished + 1) * disk.mean:
        raise NotReady(f"{disk.free:.1f} MB are free, and {disk.unfinished} files are unfinished")
    yield from WriteFile()


class Producer(NamedTuple):
    """A way to write.

    Attributes:
        program: for one file.
        schedule: its waits.
    """

    program: Program[Forever, Z, None, Look | WriteFile | Delay]
    schedule: Schedule


KINDS = {
    "fixed": Producer(at(FOREVER).retry(unsensed), Constant(0.0)),
    "aloha": Producer(at(FOREVER).retry(unsensed), fault_tolerant_shell),
    "ethernet": Producer(at(FOREVER).retry(sensed()), fault_tolerant_shell),
}
"""The paper's: again at once, `try`, and the same with a look before."""


class Buffered(NamedTuple):
    """The results of one kind of producers.

    Attributes:
        producers: the number of producers.
        kind: the name of the kind.
        files: files that were consumed.
        megabytes: MB that were consumed.
        collisions: writes that found the disk full.
        outcome: the whole simulation; its load is the MB on the disk.
    """

    producers: int
    kind: str
    files: int
    megabytes: float
    collisions: int
    outcome: Outcome


def buffered(
    producers: Iterable[int] = PRODUCERS,
    *,
    seconds: float = SECONDS,
    disk: Disk | None = None,
    seed: int = 0,
) -> list[Buffered]:
    """Simulate each kind, with each number of producers, who write one file after the other.

    >>> [one.collisions for one in buffered([5], seconds=20)]
    [0, 0, 0]

    Args:
        producers: numbers of producers.
        seconds: how long they write.
        disk: a disk with other numbers.
        seed: the seed of the random numbers.

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
        shared.serves(WriteFile) | shared.serves(Look),
        clients=many,
        seconds=seconds,
        schedule=schedule,
        think=THINK,
        seed=seed,
    )
    collisions = int(outcome.total(lambda second: second.failed))
    return Buffered(many, kind, len(consumed), sum(consumed), collisions, outcome)
