"""Readers fetch large files from three servers, one of which never answers.

The black hole of "The Ethernet Approach to Grid Computing" (Thain and Livny, HPDC 2003): servers
serve one request at a time, and one of them accepts every connection and never answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from ixbackoff import (
    FOREVER,
    N0,
    Attempt,
    Constant,
    Delay,
    Do,
    Now,
    Pick,
    Program,
    at,
    attempt,
    do,
    first_of,
)
from ixbackoff.fleet import Outcome, SingleThreaded, simulate
from ixbackoff.fleet.services.single import FetchFile, Probe
from ixbackoff.schedules import Schedule
from ixbackoff.schedules.published import fault_tolerant_shell

from ..._commandline import whole
from ..drawing import Panel, Picture, by_second
from ..flags import Flag
from ..reports import Numbers
from .experiment import Cells, Experiment, row_by_row

READERS = 3
SERVERS = 3
SECONDS = 900
AT_ONCE = 1e-9  # seconds; a reader wants the next file immediately


def aloha(server: int) -> Attempt[FetchFile | Now, None]:
    """Fetch a file within 60 s."""
    return do(FetchFile(server)).limit(60)


@attempt
def ethernet(server: int) -> Do[Probe | FetchFile | Now, None]:
    """Sense the carrier by a probe within 5 s, then fetch a file within 60 s."""
    yield from do(Probe(server)).limit(5)
    yield from do(FetchFile(server)).limit(60)


class Reader(NamedTuple):
    """A kind of reader.

    Attributes:
        program: the program for one file.
        schedule: its waits.
    """

    program: Program[FOREVER, N0, object, Probe | FetchFile | Now | Pick | Delay]
    schedule: Schedule


EACH = range(SERVERS)
KINDS = {
    "fixed": Reader(at(FOREVER).retry(first_of([FetchFile(one) for one in EACH])), Constant(0.0)),
    "aloha": Reader(
        at(FOREVER).retry(first_of([aloha(one) for one in EACH])), fault_tolerant_shell
    ),
    "ethernet": Reader(
        at(FOREVER).retry(first_of([ethernet(one) for one in EACH])), fault_tolerant_shell
    ),
}
"""The two kinds of the paper, and `fixed`, which has no time limit."""


class FilesRead(NamedTuple):
    """The results of one kind of readers.

    Attributes:
        kind: the name of the kind.
        reads: the files that were read.
        late: the fetches and probes that were abandoned.
        outcome: the simulation.
    """

    kind: str
    reads: int
    late: int
    outcome: Outcome


def black_hole(
    seconds: float = SECONDS,
    *,
    readers: int = READERS,
    servers: SingleThreaded | None = None,
    seed: int = 0,
) -> list[FilesRead]:
    """Simulate each kind of readers.

    >>> fixed, aloha, ethernet = black_hole(seconds=100)
    >>> ethernet.reads > aloha.reads >= fixed.reads
    True

    The other arguments are the flags of the command.

    Args:
        servers: servers with other times, or other black holes.

    Raises:
        ValueError: `readers` or `seconds` is not above 0.
    """
    model = servers or SingleThreaded()
    return [read(kind, seconds, readers, model, seed) for kind in KINDS]


def read(kind: str, seconds: float, readers: int, servers: SingleThreaded, seed: int) -> FilesRead:
    """Simulate one kind of readers."""
    program, schedule = KINDS[kind]
    outcome = simulate(
        program,
        servers.serves(FetchFile) | servers.serves(Probe),
        clients=readers,
        seconds=seconds,
        schedule=schedule,
        think=AT_ONCE,
        seed=seed,
    )
    well, late = outcome.total(lambda one: one.well), outcome.total(lambda one: one.late)
    return FilesRead(kind, int(well), int(late), outcome)


def row(one: FilesRead) -> Cells:
    return {"reader": one.kind, "files": one.reads, "given up": one.late}


def picture(results: Sequence[FilesRead]) -> Picture:
    """Return the files that were read, over time."""
    reads = {
        f"{one.kind}: {one.reads} files": by_second(
            [*accumulate(second.well for second in one.outcome.seconds)], number
        )
        for number, one in enumerate(results)
    }
    best = max(results, key=lambda one: one.reads)
    return Picture(
        f"One of three servers never answers: {best.kind} reads most files",
        [[Panel("files that were read", reads)]],
    )


def numbers(results: Sequence[FilesRead]) -> Numbers:
    return {
        f"{one.kind:8}  {name}": number
        for one in results
        for name, number in {"files": one.reads, "given up": one.late}.items()
    }


EXPERIMENT = Experiment(
    "blackhole",
    'The black hole of "The Ethernet Approach to Grid Computing": the files that are read from '
    "three servers, one of which never answers, by readers that wait for ever (fixed), for a "
    "minute (aloha), and that also fetch one byte before (ethernet).",
    black_hole,
    [
        Flag("seconds", SECONDS, whole(1, 86_400), "the length of a simulation", "SECONDS"),
        Flag("readers", READERS, whole(1, 1000), "the number of readers"),
    ],
    row_by_row(row),
    picture,
    numbers,
)
