"""The cost of one observer: first tries, retries and runs of programs, with it and without.

It is measured as in `retrying`: no observer, then an observer that does nothing, then one that
counts events by their kind, in turns. Counting is about the least that a useful observer does.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from statistics import median
from typing import Any, TypeAlias

from ixbackoff import (
    N10,
    Call,
    CallAsync,
    Constant,
    Delay,
    Program,
    at,
    backoff,
    call,
    call_async,
)
from ixbackoff.observing import Event, Observer, observed

from . import peers
from .measuring import Target
from .peers import Function
from .retrying import FIRST, RETRIES, Times, Way, fails_ten_times, works, works_async

ROUNDS = 161
BLOCK = 0.002  # CPU seconds of one measurement
TEN = "10 failures"
RETRY = "a retry"
RUN = "`run`"
WITHOUT, IDLE, COUNTING = "without", "does nothing", "counts"
MOST = 7

calls: type[Call[Any]] = Call
calls_async: type[CallAsync[Any]] = CallAsync

Costs: TypeAlias = dict[str, dict[str, list[float]]]
"""The CPU microseconds of each round, by the called function and by the observer."""


def idle(_: Event) -> None:
    """Do nothing."""


def counting() -> Observer:
    """Make an observer that counts events by their kind."""
    kinds: dict[type[Any], int] = {}

    def count(event: Event) -> None:
        kind = event.__class__
        kinds[kind] = kinds.get(kind, 0) + 1

    return count


def functions(asynchronous: bool) -> dict[str, Function]:
    """Make the functions to call: one that succeeds, one that fails ten times, and a program."""
    patiently = backoff(N10, on=ConnectionError, schedule=Constant(0))
    failing = patiently(fails_ten_times(asynchronous))
    waits = Delay.handled_by(lambda _: None)
    if asynchronous:
        program: Program[Any, Any, int, Any] = at(N10).retry(call_async(works_async))
        awaits = calls_async.awaited_by(lambda command: command()) | waits
        return {
            FIRST: patiently(works_async),
            TEN: failing,
            RUN: lambda: program.run_async(awaits),
        }
    program = at(N10).retry(call(works))
    answers = calls.handled_by(lambda command: command()) | waits
    return {FIRST: patiently(works), TEN: failing, RUN: lambda: program.run(answers)}


def costs(way: Way) -> Costs:
    """Measure each function with each observer, in turns."""
    observers = {WITHOUT: (), IDLE: (idle,), COUNTING: (counting(),)}
    made = functions(way.asynchronous)
    times = {what: max(1, round(BLOCK / way.seconds(made[what], 50) * 50)) for what in made}
    each: Costs = {what: {name: [] for name in observers} for what in made}
    for _ in range(ROUNDS):
        for what, function in made.items():
            for name, told in observers.items():
                with observed(*told):
                    seconds = way.seconds(function, times[what])
                each[what][name].append(seconds / times[what] * 1e6)
            gc.collect()
    each[RETRY] = {
        name: [
            (last - first) / RETRIES for first, last in zip(each[FIRST][name], taken, strict=True)
        ]
        for name, taken in each.pop(TEN).items()
    }
    return {what: each[what] for what in (FIRST, RETRY, RUN)}


def measured() -> dict[str, Costs]:
    """Measure both ways, sync and awaited, where sleeps take no time."""
    gc.collect()
    gc.disable()
    try:
        with peers.sleeping_with(peers.no_sleep, peers.no_sleep_async):
            gc.freeze()
            with asyncio.Runner() as runner:
                return {"sync": costs(Way(None)), "awaited": costs(Way(runner))}
    finally:
        gc.unfreeze()
        gc.enable()


def ratio(
    taken: dict[str, list[float]], name: str, by: Callable[[list[float]], float] = median
) -> float:
    """Return the cost with an observer as a multiple of the cost without one."""
    return by(taken[name]) / by(taken[WITHOUT])


def table(results: dict[str, Costs]) -> str:
    """Format the costs as Markdown."""
    rows = [
        [
            "",
            "nobody observes",
            "an observer that does nothing",
            "ratio",
            "one that counts",
            "ratio",
        ],
        ["---"] + ["---:"] * 5,
    ]
    for way, made in results.items():
        for what, taken in made.items():
            cells = [f"{what}, {way}", str(Times(taken[WITHOUT]))]
            for name in (IDLE, COUNTING):
                cells += [str(Times(taken[name])), f"{ratio(taken, name):.1f}"]
            rows.append(cells)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


def targets(results: dict[str, Costs]) -> list[Target]:
    """Compare the costs of an observer that does nothing with those of none."""
    return [
        Target(
            f"an observer that does nothing, {way}: {what}",
            ratio(taken, IDLE),
            MOST,
            False,
            f"{median(taken[IDLE]):.2f} and {median(taken[WITHOUT]):.2f} us; by minima "
            f"{ratio(taken, IDLE, min):.2f}; {ratio(taken, COUNTING):.2f} with one that counts",
        )
        for way, made in results.items()
        for what, taken in made.items()
    ]


def main() -> None:
    results = measured()
    print(table(results), end="\n\n")
    for target in targets(results):
        print(target)


if __name__ == "__main__":
    main()
