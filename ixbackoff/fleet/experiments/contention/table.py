"""Calls and times, as text."""

from __future__ import annotations

from collections.abc import Sequence

from .model import Contention


def table(results: Sequence[Contention]) -> str:
    """A table of the results of `contention`.

    >>> from ixbackoff.fleet.experiments.contention.model import contention
    >>> from ixbackoff.fleet.experiments.contention.row import Row
    >>> row = Row(latency=0.01, deviation=0.0)
    >>> print(table(contention([1], seeds=1, row=row)[:2]))
    clients                    1
    waits           calls     ms
    none                1     40
    exponential         1     40
    """
    cells = {
        (one.name, one.clients): f"{one.calls:9.0f}{one.seconds * 1000:7.0f}" for one in results
    }
    clients = list(dict.fromkeys(one.clients for one in results))
    heads = [
        f"{'clients':12}" + "".join(f"{many:16}" for many in clients),
        f"{'waits':12}" + "    calls     ms" * len(clients),
    ]
    lines = [
        f"{name:12}" + "".join(cells[name, many] for many in clients)
        for name in dict.fromkeys(one.name for one in results)
    ]
    return "\n".join([*heads, *lines])
