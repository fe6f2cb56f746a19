"""The black hole of "The Ethernet Approach to Grid Computing" (Thain and Livny, HPDC 2003).

The number of files that readers fetch from three servers, one of which never answers. Readers wait
for ever (fixed), wait for a minute (aloha), or first fetch one byte (ethernet).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from operator import attrgetter
from typing import Annotated, NamedTuple

from ixbackoff import Do, Now, attempt, do, first_of
from ixbackoff._argument_parser import whole
from ixbackoff.fleet import Outcome

from ..drawing import Panel, Picture, by_second
from .ethernet import NOTE, ClientKind, kinds
from .experiment import Cells, Experiment
from .services.single import FetchFile, Probe, SingleThreaded

SERVERS = 3


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
    readers: int
    reads: int
    abandoned: int  # the number of fetches and probes that exceeded their limits
    outcome: Outcome


def black_hole(
    seconds: Annotated[float, whole(1, 86_400), "the length of a simulation", "SECONDS"] = 900,
    *,
    readers: Annotated[int, whole(1, 1000), "the number of readers"] = 3,
    servers: SingleThreaded | None = None,
    seed: int = 0,
) -> list[FilesRead]:
    model = servers or SingleThreaded()
    services = model.serves(FetchFile) | model.serves(Probe)
    results: list[FilesRead] = []
    for kind, clients in KINDS.items():
        outcome = clients.simulated(services, readers, seconds, seed)
        reads, late = (outcome.total(of) for of in (attrgetter("well"), attrgetter("late")))
        results.append(FilesRead(kind, readers, int(reads), int(late), outcome))
    return results


def row(result: FilesRead) -> Cells:
    return {"reader": result.kind, "files": result.reads, "abandoned": result.abandoned}


def picture(results: Sequence[FilesRead]) -> Picture:
    reads = {
        result.kind: [*accumulate(second.well for second in result.outcome.seconds)]
        for result in results
    }
    headline = "One of three servers is silent: readers that first try one byte read the most"
    note = f"""{NOTE}first fetches one byte, within 5 s. Limit of a file: 60 s; fixed has none.
{results[0].readers} readers, each with one file at a time."""
    return Picture(headline, [[Panel("files that were read", by_second(reads))]], note=note)


EXPERIMENT = Experiment(black_hole, row, picture)
