"""What limiters and throttles do to a service: tables with many seeds, and pictures.

`python -m benchmarks.gates quota`, `silent`, `overload`, `recovery` or `partial` prints a table for
`docs/limiters.md` or `docs/throttles.md`: means, and in brackets the least and the greatest number
of 40 seeds. `python -m benchmarks.gates pictures FOLDER` draws the pictures of these pages.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean

from ixbackoff import CircuitBreaker, Limiter, RetryBudget, Throttle
from ixbackoff.fleet import Outcome, Service, each_seed

from .drawing import Graph, Panel, Picture, by_second, by_size, draw
from .experiments.experiment import aligned
from .gated_models import (
    Book,
    Bucket,
    Guards,
    Make,
    Quota,
    overload,
    partial_outage,
    quota,
    recovered,
    recovery,
    well,
)

LOADS = (0.9, 1.2, 2.0, 4.0, 8.0)
SHARES = (0.9, 0.7, 0.5, 0.3, 0.1)
LIMITERS: Mapping[str, tuple[Make | None, int]] = {
    "ladders alone": (None, 1),
    "one Limiter(10, line=20)": (partial(Limiter, 10, line=20), 1),
    "one Limiter(15, line=20)": (partial(Limiter, 15, line=20), 1),
    "one Limiter(100, line=20)": (partial(Limiter, 100, line=20), 1),
    "one Limiter(line=20)": (partial(Limiter, line=20), 1),
    "one Limiter.learning(line=20)": (partial(Limiter.learning, line=20), 1),
    "ten Limiter(1, line=20)": (partial(Limiter, 1, line=20), 10),
    "ten Limiter(10, line=20)": (partial(Limiter, 10, line=20), 10),
    "ten Limiter(line=20)": (partial(Limiter, line=20), 10),
    "ten Limiter.learning(line=20)": (partial(Limiter.learning, line=20), 10),
}
"""Makers of a limiter, and the number of limiters that the clients share."""
BREAKER = partial(CircuitBreaker, failures=20, within=2, open_for=2)
GUARDS = {
    "ladders alone": Guards(),
    "RetryBudget(10)": Guards(budget=partial(RetryBudget, 10)),
    "breaker, 20 in 2 s": Guards(breaker=BREAKER),
    "Throttle()": Guards(Throttle),
    "Throttle(1.5)": Guards(partial(Throttle, 1.5)),
}
BOOKS = {
    "the book's, 2 in 120 s": Guards(partial(Book, 2, 120)),
    "the book's, 1.1 in 30 s": Guards(partial(Book, 1.1, 30)),
}

Row = Mapping[str, float]
"""Numbers of one simulation by the names of their columns."""


def quotas(
    service: Service, seed: int, ways: Iterable[tuple[Make | None, int]] = LIMITERS.values()
) -> list[Row]:
    """Return the rates, the share in vain and the busiest second of each limiter."""
    rows: list[Row] = []
    for make, gates in ways:
        outcome = quota(make, gates, service, seed)
        seconds = outcome.seconds[20:]
        asked = [second.asked for second in seconds]
        rows.append(
            {
                "requests/s": fmean(asked),
                "in vain, %": 100 * sum(second.failed for second in seconds) / max(1, sum(asked)),
                "most in 1 s": max(asked),
                "succeed/s": fmean(second.well for second in seconds),
                "gave up/s": fmean(second.gave_up for second in seconds),
            }
        )
    return rows


def loads(seed: int) -> list[Row]:
    """Return the runs that succeed a second, with each guard and at each load."""
    return [
        {f"{load:g} x": well(overload(guards, load, seed)) for load in LOADS}
        for guards in GUARDS.values()
    ]


def recoveries(seed: int) -> list[Row]:
    """Return the requests in the outage, and the seconds to the recovery, with each guard."""
    outcomes = [recovery(guards, seed) for guards in (GUARDS | BOOKS).values()]
    return [
        {
            "requests/s in the outage": outcome.rate(lambda second: second.asked, 70, 120),
            "recovers after, s": recovered(outcome),
        }
        for outcome in outcomes
    ]


def shares(seed: int) -> list[Row]:
    """Return the runs that succeed of a service that answers a share of the tries, by chance."""
    return [
        {f"{share:.0%}": well(partial_outage(guards, share, seed)) for share in SHARES}
        for guards in GUARDS.values()
    ]


TABLES: Mapping[str, tuple[Callable[[int], list[Row]], Sequence[str]]] = {
    "quota": (partial(quotas, Quota()), [*LIMITERS]),
    "silent": (partial(quotas, Bucket()), [*LIMITERS]),
    "overload": (loads, [*GUARDS]),
    "recovery": (recoveries, [*GUARDS, *BOOKS]),
    "partial": (shares, [*GUARDS]),
}
"""The rows of one seed, and their names."""


def table(name: str, seeds: int) -> str:
    rows, names = TABLES[name]
    results = each_seed(rows, seeds).results
    return aligned(
        [
            {"": way} | {column: spread([one[number][column] for one in results]) for column in row}
            for number, (way, row) in enumerate(zip(names, results[0], strict=True))
        ]
    )


def spread(numbers: Sequence[float]) -> str:
    """Return the mean, and the least and the greatest number if they differ.

    >>> spread([7.0, 8.04, 9.04]), spread([2.0, 2.04])
    ('8.0 (7.0-9.0)', '2.0')
    """
    least, most = f"{min(numbers):.1f}", f"{max(numbers):.1f}"
    mean = f"{fmean(numbers):.1f}"
    return mean if least == most else f"{mean} ({least}-{most})"


def against_quotas() -> Picture:
    """Return the requests in each second, if the service says when, and if it does not."""
    shown = {
        "ladders alone": "ladders alone",
        "one Limiter(10, line=20)": "one Limiter(10)",
        "ten Limiter(10, line=20)": "ten Limiter(10)",
        "ten Limiter.learning(line=20)": "ten that learn",
    }
    titles = {
        "100 requests in each 10 s, a refusal says when the next 10 s begin": Quota(),
        "10 requests a second, a refusal does not say when to come back": Bucket(),
    }
    panels: list[list[Panel]] = []
    for title, service in titles.items():
        lines: dict[str, Graph] = {}
        for way, name in shown.items():
            seconds = quota(*LIMITERS[way], service, 0).seconds
            asked = by_second({way: [second.asked for second in seconds[:60]]}, [len(lines)])
            [row] = quotas(service, 0, [LIMITERS[way]])
            lines[f"{name}: {row['in vain, %']:.0f} % in vain"] = asked[way]
        panel = Panel("requests per second", lines, title=title, scale="symlog")
        panels.append([panel._replace(limits=(-0.5, 200.0))])
    headline = "Clients want 20 requests/s, the quota is 10/s: who asks in vain? (seed 0)"
    note = """ladders alone: retries, but no limiter. one: all clients share it.
ten: one for each tenth of them. that learn: Limiter.learning.
Limiter(10): at most 10 tries/s. A try is in line for up to 20 s."""
    return Picture(headline, panels, (11.0, 6.0), note, shared=True)


def under_load(results: Sequence[Sequence[Row]]) -> Picture:
    """Return the runs that succeed: by load, with the results of `loads`, and in an outage."""
    by_load = by_size(
        (name, load, fmean(one[number][f"{load:g} x"] for one in results))
        for number, name in enumerate(GUARDS)
        for load in LOADS
    )
    shown = BOOKS | {name: GUARDS[name] for name in ("Throttle()", "ladders alone")}
    rates = {name: smooth(recovery(guards, 0)) for name, guards in shown.items()}
    over_time = by_second(rates, range(2, 9))  # no line of a book looks as `Throttle()` does
    label = "runs that succeed per second"
    panels = [
        Panel(label, by_load, x="load, times the capacity", limits=(0, 105)),
        Panel(label, over_time, outage=("the service is down", (60.0, 120.0)), limits=(0, 80)),
    ]
    headline = f"Throttle() keeps three quarters of the capacity (mean of {len(results)} seeds)"
    note = """Capacity: 100 requests/s. ladders alone: retries, with waits.
Right: 60 runs/s begin; the means of 5 s, drawn up to 80.
the book's: the throttle of Google's SRE book; 2 (1.1) tries for an answer in 120 (30) s."""
    return Picture(f"{headline}, and is back at once (seed 0)", [panels], (11.0, 5.0), note)


def smooth(outcome: Outcome, span: int = 5) -> list[float]:
    """Return the successful runs per second, as the mean of `span` seconds before each."""
    return [
        outcome.rate(lambda second: second.well, max(0, end - span), end)
        for end in range(1, len(outcome.seconds) + 1)
    ]


def main(words: list[str]) -> int:
    if words[:1] == ["pictures"] and len(words) == 2:
        folder = Path(words[1])
        draw(against_quotas(), "quota", folder)
        draw(under_load(each_seed(loads, 40).results), "throttles", folder)
        return 0
    if len(words) != 1 or words[0] not in TABLES:
        print(
            f"usage: python -m benchmarks.gates {'|'.join(TABLES)}|pictures FOLDER", file=sys.stderr
        )
        return 2
    print(table(words[0], 40))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
