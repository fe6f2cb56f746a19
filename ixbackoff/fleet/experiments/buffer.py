"""Experiment: producers write files to a disk that gets full, faster than they are consumed.

The disk buffer of "The Ethernet Approach to Grid Computing" (Thain and Livny, HPDC 2003).
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

from ..._commandline import number, whole
from ..._words.failures import NotReady
from ..._words.nat import N20, Z
from ..._words.vocabulary import Delay
from ..._writing.attempts import Attempt, Do, attempt, do
from ..._writing.programs import Program, at
from ...schedules.kinds import Constant, Schedule
from ...schedules.published import fault_tolerant_shell
from ..disks import Disk, Look, WriteFile
from ..drawing import pictured
from ..outcomes import Outcome
from ..simulation import simulate
from .commands import command

PRODUCERS = (5, 10, 20, 30, 40, 50)
SECONDS = 300
THINK = 1.0  # seconds between two files of a producer, in the mean


unsensed: Attempt[WriteFile, None] = do(WriteFile())


@attempt
def sensed() -> Do[Look | WriteFile, None]:
    """Look before writing: the Ethernet producer.

    Nobody knows how large a file will be that is being written, so each is taken for a mean one.
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

    program: Program[N20, Z, None, Look | WriteFile | Delay]
    schedule: Schedule


KINDS = {
    "fixed": Producer(at(N20).retry(unsensed), Constant(0.0)),
    "aloha": Producer(at(N20).retry(unsensed), fault_tolerant_shell),
    "ethernet": Producer(at(N20).retry(sensed()), fault_tolerant_shell),
}
"""The paper's: again at once, `try`, and the same with a look before."""


class Buffered(NamedTuple):
    """What so many producers of one kind come to.

    Attributes:
        producers: how many.
        kind: its name.
        files: that were consumed.
        megabytes: of these.
        collisions: how often a write found the disk full.
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
    """Every kind, with so many producers, each of which writes one file after the other.

    >>> [one.collisions for one in buffered([5], seconds=20)]
    [0, 0, 0]

    Args:
        producers: how many.
        seconds: how long.
        disk: with other numbers.
        seed: of the random numbers.

    Raises:
        ValueError: there are no producers, or no seconds.
    """
    model = disk or Disk()
    return [written(many, kind, model, seconds, seed) for many in producers for kind in KINDS]


def written(many: int, kind: str, disk: Disk, seconds: float, seed: int) -> Buffered:
    """So many producers of one kind."""
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
        persistent=True,
        seed=seed,
    )
    collisions = int(outcome.total(lambda second: second.failed))
    return Buffered(many, kind, len(consumed), sum(consumed), collisions, outcome)


HEAD = """\
                 MB/s consumed          files consumed                collisions
producers  fixed aloha ethernet   fixed aloha ethernet    fixed  aloha  ethernet"""


def table(results: Sequence[Buffered]) -> str:
    """What `buffered` came to, as text.

    >>> print(table([]).splitlines()[1])
    producers  fixed aloha ethernet   fixed aloha ethernet    fixed  aloha  ethernet
    """
    lines = [HEAD]
    for many in dict.fromkeys(one.producers for one in results):
        fixed, aloha, ethernet = [one for one in results if one.producers == many]
        rates = [one.megabytes / len(one.outcome.seconds) for one in (fixed, aloha, ethernet)]
        lines.append(
            f"{many:9}  {rates[0]:5.2f} {rates[1]:5.2f} {rates[2]:8.2f}   "
            f"{fixed.files:5} {aloha.files:5} {ethernet.files:8}   "
            f"{fixed.collisions:6} {aloha.collisions:6}  {ethernet.collisions:8}"
        )
    return "\n".join(lines)


def parsed(arguments: list[str] | None) -> Namespace:
    """The command line's words."""
    parser = command(
        "buffer",
        'The disk buffer of "The Ethernet Approach to Grid Computing": what is '
        "consumed, and how often a write finds the disk full, with producers that try again at "
        "once (fixed), with exponential waits (aloha), and that also look first how much is free "
        "(ethernet).",
    )
    parser.add_argument(
        "--producers",
        type=whole(1, 1000),
        action="append",
        metavar="NUMBER",
        help="how many; can be given more than once (default: six numbers, 5 to 50)",
    )
    parser.add_argument(
        "--speed",
        type=number(0.1, 1e6),
        default=Disk().speed,
        metavar="MB",
        help="that the disk reads and writes per second, in all (default: %(default)g)",
    )
    parser.add_argument(
        "--seconds", type=whole(1, 86_400), default=SECONDS, help="(default: %(default)s)"
    )
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Print the table, and draw the picture if one is wanted; the exit status."""
    words = parsed(arguments)
    results = buffered(
        words.producers or PRODUCERS,
        seconds=words.seconds,
        disk=Disk(speed=words.speed),
        seed=words.seed,
    )
    print(table(results))
    from .ethernet_pictures import draw_buffer

    return pictured(partial(draw_buffer, results), words.picture)


if __name__ == "__main__":
    sys.exit(main())
