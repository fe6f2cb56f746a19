"""The black hole of "The Ethernet Approach to Grid Computing" (Thain and Livny, HPDC 2003)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from ixbackoff import Do, Now, attempt, do, first_of
from ixbackoff.fleet import Outcome, SingleThreaded
from ixbackoff.fleet.services.single import FetchFile, Probe

from ..._argument_parser import Flag, whole
from ..drawing import Panel, Picture, by_second
from ..reports import Numbers
from .ethernet import ClientKind, kinds
from .experiment import Cells, Experiment, row_by_row

READERS = 3
SERVERS = 3
SECONDS = 900


@attempt
def ethernet(server: int) -> Do[Probe | FetchFile | Now, None]:
    """Sense the carrier by a probe within 5 s, then fetch a file within 60 s."""
    yield from do(Probe(server)).limit(5)
    yield from do(FetchFile(server)).limit(60)


KINDS: dict[str, ClientKind[Probe | FetchFile]] = kinds(
    first_of([FetchFile(server) for server in range(SERVERS)]),
    first_of([do(FetchFile(server)).limit(60) for server in range(SERVERS)]),
    first_of([ethernet(server) for server in range(SERVERS)]),
)
"""The two kinds of the paper, and `fixed`, which has no time limit."""


class FilesRead(NamedTuple):
    kind: str
    reads: int
    abandoned: int  # the number of fetches and probes that exceeded their limits
    outcome: Outcome


def black_hole(
    seconds: float = SECONDS,
    *,
    readers: int = READERS,
    servers: SingleThreaded | None = None,
    seed: int = 0,
) -> list[FilesRead]:
    model = servers or SingleThreaded()
    services = model.serves(FetchFile) | model.serves(Probe)
    results: list[FilesRead] = []
    for kind, clients in KINDS.items():
        outcome = clients.simulated(services, readers, seconds, seed)
        reads = outcome.total(lambda second: second.well)
        late = outcome.total(lambda second: second.late)
        results.append(FilesRead(kind, int(reads), int(late), outcome))
    return results


def row(result: FilesRead) -> Cells:
    return {"reader": result.kind, "files": result.reads, "abandoned": result.abandoned}


def picture(results: Sequence[FilesRead]) -> Picture:
    reads = {
        f"{kind}: {files} files": [*accumulate(second.well for second in outcome.seconds)]
        for kind, files, _, outcome in results
    }
    best = max(results, key=lambda result: result.reads)
    headline = f"One of three servers never answers: {best.kind} reads most files"
    return Picture(headline, [[Panel("files that were read", by_second(reads))]])


def numbers(result: FilesRead) -> tuple[str, Numbers]:
    return f"{result.kind:8}", {"files": result.reads, "abandoned": result.abandoned}


EXPERIMENT = Experiment(
    'The black hole of "The Ethernet Approach to Grid Computing": the number of files that readers '
    "fetch from three servers, one of which never answers. Readers wait for ever (fixed), wait for "
    "a minute (aloha), or first fetch one byte (ethernet).",
    black_hole,
    [
        Flag("seconds", SECONDS, whole(1, 86_400), "the length of a simulation", "SECONDS"),
        Flag("readers", READERS, whole(1, 1000), "the number of readers"),
    ],
    row_by_row(row),
    picture,
    numbers,
)
