"""The costs of this checkout beside those of another one: `python -m benchmarks.against OTHER`.

A process of each measures in turns with the other, so that whatever else the machine does slows
both. The table has the median of the ratios of neighbouring measurements, and the ratio of the
minima. Nothing is logged. A sleep takes no time; an awaited one is `asyncio.sleep(0)`, the shortest
that there is, which lets the event loop run once.
"""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

ROUNDS = 200
BLOCK = 0.003  # CPU seconds of one measurement
HERE = Path(__file__).parent.parent


def idle(_: object) -> None:
    """Do nothing."""


def runs() -> dict[str, tuple[Callable[[], Any], bool]]:
    """Make the functions to measure from this process's package, and whether each is awaited."""
    from ixbackoff import (
        N10,
        Call,
        CircuitBreaker,
        Constant,
        Delay,
        Do,
        Log,
        Now,
        RetryBudget,
        at,
        attempt,
        backoff,
        call,
    )

    from .retrying import fails_ten_times, works, works_async

    patiently = backoff(N10, on=ConnectionError, schedule=Constant(0))
    breaker = CircuitBreaker(failures=9, within=1, open_for=1)
    calls: type[Call[int]] = Call
    answers = (
        calls.handled_by(lambda command: command())
        | Delay.handled_by(lambda _: None)
        | Now.handled_by(lambda _: process_time())
        | Log.handled_by(lambda _: None)
    )
    one = at(N10).retry(call(works))
    ten = at(N10).retry(call(fails_ten_times(False)), ConnectionError)
    budget = RetryBudget(10**6, returned=10**6)

    @attempt
    def hundred() -> Do[Log, None]:
        for _ in range(100):
            yield from Log("")

    commands = at(N10).retry(hundred())
    return {
        "a first try": (patiently(works), False),
        "a first try, awaited": (patiently(works_async), True),
        "a first try with a breaker": (patiently.replace(breaker=breaker)(works), False),
        "ten retries": (patiently(fails_ten_times(False)), False),
        "ten retries, awaited": (patiently(fails_ten_times(True)), True),
        "run": (lambda: one.run(answers), False),
        "run, within=60": (lambda: one.run(answers, within=60), False),
        "run, ten retries": (lambda: ten.run(answers, schedule=Constant(0)), False),
        "run, ten retries, a budget": (
            lambda: ten.run(answers, schedule=Constant(0), budget=budget),
            False,
        ),
        "run, a hundred commands": (lambda: commands.run(answers), False),
    }


def measure() -> None:
    """Answer each line `number watched calls` with the CPU seconds of the calls."""
    from ixbackoff.observing import observed

    from .peers import no_sleep, sleeping_with

    made = list(runs().values())

    async def awaited(function: Callable[[], Any], calls: int) -> float:
        begun = process_time()
        for _ in range(calls):
            await function()
        return process_time() - begun

    def called(function: Callable[[], Any], calls: int) -> float:
        begun = process_time()
        for _ in range(calls):
            function()
        return process_time() - begun

    gc.disable()
    with sleeping_with(no_sleep, asyncio.sleep), asyncio.Runner() as runner:
        for line in sys.stdin:
            number, watched, calls = map(int, line.split())
            function, is_awaited = made[number]
            with observed(*[idle][:watched]):
                if is_awaited:
                    print(runner.run(awaited(function, calls)), flush=True)
                else:
                    print(called(function, calls), flush=True)
            gc.collect()


class Checkout:
    """A process that measures the package in a folder, with the benchmarks of this checkout."""

    def __init__(self, folder: Path) -> None:
        code = (
            f"import sys; sys.path.insert(0, {str(folder)!r}); import ixbackoff; "
            f"sys.path[0] = {str(HERE)!r}; from benchmarks.against import measure; measure()"
        )
        self.process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def seconds(self, number: int, watched: int, calls: int) -> float:
        """Return the CPU seconds of one call, the mean of `calls`."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(number, watched, calls, file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline()) / calls


def main() -> None:
    ours, other = Checkout(HERE), Checkout(Path(sys.argv[1]).resolve())
    print("| | microseconds | in the other's, medians | minima | in a run without observers |")
    print("|---|---:|---:|---:|---:|")
    for number, what in enumerate(runs()):
        alone = 0.0
        for watched in range(2):
            calls = max(1, round(BLOCK / ours.seconds(number, watched, 20)))
            pairs = [
                (ours.seconds(number, watched, calls), other.seconds(number, watched, calls))
                for _ in range(ROUNDS)
            ]
            least, least_other = (min(column) for column in zip(*pairs, strict=True))
            alone = alone or least
            ratio = median(mine / its for mine, its in pairs)
            name = f"{what}, observed" if watched else what
            print(
                f"| {name} | {least * 1e6:.2f} | {ratio:.3f} | {least / least_other:.3f} "
                f"| {least / alone:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
