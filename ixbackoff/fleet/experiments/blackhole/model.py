"""Readers fetch large files from three servers, one of which never answers.

The black hole of "The Ethernet Approach to Grid Computing" (Thain and Livny, HPDC 2003): servers do
one thing at a time, and one of them accepts every connection and never answers.
"""

from __future__ import annotations

from typing import NamedTuple

from ...._words.nat import FOREVER, Forever, Z
from ...._words.vocabulary import Delay, Now, Pick
from ...._writing.attempts import Attempt, Do, attempt, do
from ...._writing.programs import Program, at
from ...._writing.several import first_of
from ....schedules.kinds import Constant, Schedule
from ....schedules.published import fault_tolerant_shell
from ...outcomes import Outcome
from ...simulation import simulate
from .servers import Fetch, Probe, SingleThreaded

READERS = 3
SERVERS = 3
SECONDS = 900
AT_ONCE = 1e-9  # seconds; a reader wants the next file at once


def aloha(server: int) -> Attempt[Fetch | Now, None]:
    """Fetch a file, for at most 60 s."""
    return do(Fetch(server)).limit(60)


@attempt
def ethernet(server: int) -> Do[Probe | Fetch | Now, None]:
    """Fetch a file for at most 60 s, after a probe of at most 5 s: sense the carrier."""
    yield from do(Probe(server)).limit(5)
    yield from do(Fetch(server)).limit(60)


class Reader(NamedTuple):
    """A way to read.

    Attributes:
        program: for one file.
        schedule: its waits.
    """

    program: Program[Forever, Z, object, Probe | Fetch | Now | Pick | Delay]
    schedule: Schedule


EACH = range(SERVERS)
KINDS = {
    "fixed": Reader(at(FOREVER).retry(first_of([Fetch(one) for one in EACH])), Constant(0.0)),
    "aloha": Reader(
        at(FOREVER).retry(first_of([aloha(one) for one in EACH])), fault_tolerant_shell
    ),
    "ethernet": Reader(
        at(FOREVER).retry(first_of([ethernet(one) for one in EACH])), fault_tolerant_shell
    ),
}
"""The paper's two, and `fixed`, which has no time limit."""


class Reading(NamedTuple):
    """The results of one kind of readers.

    Attributes:
        kind: the name of the kind.
        reads: files that were read.
        late: fetches and probes that were given up.
        outcome: the whole simulation.
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
) -> list[Reading]:
    """Simulate each kind of readers.

    >>> fixed, aloha, ethernet = black_hole(seconds=100)
    >>> ethernet.reads > aloha.reads >= fixed.reads
    True

    Args:
        seconds: how long each kind reads.
        readers: the number of readers.
        servers: servers with other times, or other black holes.
        seed: the seed of the random numbers.

    Raises:
        ValueError: `readers` or `seconds` is not above 0.
    """
    model = servers or SingleThreaded()
    return [read(kind, seconds, readers, model, seed) for kind in KINDS]


def read(kind: str, seconds: float, readers: int, servers: SingleThreaded, seed: int) -> Reading:
    """Simulate one kind of readers."""
    program, schedule = KINDS[kind]
    outcome = simulate(
        program,
        servers.serves(Fetch) | servers.serves(Probe),
        clients=readers,
        seconds=seconds,
        schedule=schedule,
        think=AT_ONCE,
        seed=seed,
    )
    well, late = outcome.total(lambda one: one.well), outcome.total(lambda one: one.late)
    return Reading(kind, int(well), int(late), outcome)
