"""The shared parts of `fleet` commands: seed flags, and reports on one simulation or on many."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Mapping
from math import inf, isnan
from operator import itemgetter
from pathlib import Path
from typing import TypeVar

from .._argument_parser import Flag, whole
from .lost_capacity import Outage
from .seed_results import Sample
from .seed_sweep import each_seed
from .simulation_outcome import Outcome

R = TypeVar("R")
Numbers = Mapping[str, float | None]
"""The numbers or truth values to compare between seeds, by name."""
PICTURE = Flag("picture", None, Path, "also draw into this folder; needs matplotlib", "FOLDER")
LABEL = 44
COLUMN = 10
COLUMNS = {"least": 0.0, "median": 0.5, "most": 1.0}
RECOVERS = "recovers"
SHARE, SPAN = 0.8, 10
"""A service has recovered as soon as all intervals of 10 s from then on have at least 0.8 of the
rate of successful runs before the outage. (Chance alone can lower the rate by 10 %.)"""


class Report:
    """The report of a simulation with an outage.

    `before` and `asked` are means over the second half of the time before the outage. `unserved` is
    the share of the clients that had a failed run, and `gave_up` the share of the runs that failed.
    """

    def __init__(self, outcome: Outcome, stopped: Outage) -> None:
        self.outcome = outcome
        begin, end = int(stopped.start), stopped.start + stopped.length
        asked = [second.asked for second in outcome.seconds]
        self.before = outcome.rate(lambda second: second.well, begin // 2, begin)
        self.after = outcome.rate(lambda second: second.well, int(end), len(outcome.seconds))
        self.asked = outcome.rate(lambda second: second.asked, begin // 2, begin)
        self.second = max(range(len(asked)), key=asked.__getitem__)
        self.most = asked[self.second]
        self.recovered = (
            outcome.recovered_after(end, self.before, SHARE, SPAN) if self.before else None
        )
        self.unserved = outcome.gave_up / max(outcome.clients, 1)
        self.runs = outcome.total(lambda second: second.well + second.gave_up)
        self.gave_up = outcome.total(lambda second: second.gave_up) / max(self.runs, 1)
        self.p50, self.p99 = outcome.quantile(0.5), outcome.quantile(0.99)

    def text(self) -> str:
        if self.recovered is not None:
            recovery = f"after {self.recovered:.0f} s"
        elif self.before:
            recovery = "not before the simulation ended"
        else:
            recovery = "the goodput before the outage is 0, so there is no rate to recover"
        return "\n".join(
            [
                f"goodput    {self.before:.1f} runs/s succeeded before the outage, "
                f"{self.after:.1f} after it",
                f"load       {self.asked:.1f} requests/s before, {self.most} at most, "
                f"in second {self.second}",
                f"recovery   {recovery}",
                f"latency    {written(self.p50)} s in the median and {written(self.p99)} s at the "
                "99th percentile of the runs that succeeded",
                f"gave up    {self.unserved:.1%} of {self.outcome.clients} clients, "
                f"in {self.gave_up:.1%} of {self.runs:.0f} runs",
                f"events     {self.outcome.events}",
            ]
        )

    def numbers(self) -> Numbers:
        return {
            "goodput before the outage, runs/s": self.before,
            "goodput after it, runs/s": self.after,
            "load before the outage, requests/s": self.asked,
            "load at most, requests/s": self.most,
            "latency of runs, median, s": self.p50,
            "latency of runs, p99, s": self.p99,
            "clients that gave up, %": self.unserved * 100,
            "runs that gave up, %": self.gave_up * 100,
            "recovers after, s": self.recovered,
            RECOVERS: self.recovered is not None,
        }


def seed_flags(default: int = 1, text: str = "the number of seeds") -> list[Flag]:
    """Make the flags that `sampled` reads; `text` describes `--seeds`."""
    processes = "the number of processes for many seeds (default: the number of processors)"
    return [
        Flag("seed", 0, whole(0, 2**32), "the seed of the random numbers"),
        Flag("seeds", default, whole(1, 100_000), f"{text}, from --seed on"),
        Flag("jobs", None, whole(1, 1000), processes),
    ]


def sampled(function: Callable[[int], R], args: Namespace) -> Sample[R]:
    """Call the function with each seed of the command line; on a terminal, count finished seeds."""
    done = 0

    def watch(_seed: int, _result: R) -> None:
        nonlocal done
        done += 1
        print(f"\r{done} of {args.seeds} seeds", end="", file=sys.stderr, flush=True)

    shows = args.seeds > 1 and sys.stderr.isatty()
    try:
        return each_seed(
            function,
            range(args.seed, args.seed + args.seeds),
            jobs=args.jobs,
            watch=watch if shows else None,
        )
    finally:
        if done:
            print(file=sys.stderr)


def spread(sample: Sample[Numbers], columns: Mapping[str, float] = COLUMNS) -> str:
    """Return a table of quantiles of the numbers, and counts of truth values.

    >>> sample = Sample((0, 1, 2), ({"jobs": 5, "back": True}, {"jobs": 9, "back": True},
    ...     {"jobs": 7, "back": False}))
    >>> print(spread(sample))
    3 seeds                                          least    median      most
    jobs                                                 5         7         9
    back                                                                2 of 3
    """
    heads = "".join(f"{one:>{COLUMN}}" for one in columns)
    label = max(LABEL, *map(len, sample.results[0]))
    lines = [f"{len(sample.seeds)} seeds".ljust(label) + heads]
    for name, first in sample.results[0].items():
        of: Callable[[Numbers], float | None] = itemgetter(name)
        if isinstance(first, bool):
            cells = f"{len(sample.where(of))} of {len(sample.seeds)}".rjust(len(heads))
        else:
            quantiles = [written(sample.quantile(of, at)) for at in columns.values()]
            cells = "".join(f"{one:>{COLUMN}}" for one in quantiles)
        lines.append(name.ljust(label) + cells)
    return "\n".join(lines)


def written(number: float) -> str:
    """Return a number as text, exact to two digits or more; infinity is "never", and nan "none".

    >>> written(1353.5), written(7.25), written(9.0), written(0.0412), written(float("inf"))
    ('1354', '7.2', '9', '0.041', 'never')
    """
    if number == inf:
        return "never"
    if isnan(number):
        return "none"
    if abs(number) < 1:
        return f"{number:.2g}"
    return f"{number:.0f}" if number >= 100 or number == int(number) else f"{number:.1f}"
