"""The costs of this checkout in those of another one: `python -m benchmarks.against OTHER`.

Each checkout has a process, and the two measure in turns, a block of some milliseconds of CPU time
each. So another program on the machine slows both. The table has the medians of the ratios of
neighbouring blocks, and the ratio of the minima.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time

ROUNDS = 300
BLOCK = 0.004  # CPU seconds of one measurement
HERE = Path(__file__).parent.parent


def measure() -> None:
    """Answer each line `what calls` with the CPU seconds of so many calls."""
    logging.disable()
    runs = made()
    gc.collect()
    gc.disable()
    for line in sys.stdin:
        what, calls = line.split()
        print(runs[what](int(calls)), flush=True)
        gc.collect()


def made() -> dict[str, Callable[[int], float]]:
    """Make what is measured, from the package of this process."""
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
    from ixbackoff.observing import observed

    from .retrying import fails_ten_times, works, works_async

    patiently = backoff(N10, on=ConnectionError, schedule=Constant(0))
    calls: type[Call[int]] = Call
    answers = (
        calls.handled_by(lambda command: command())
        | Delay.handled_by(lambda _: None)
        | Now.handled_by(lambda _: process_time())
        | Log.handled_by(lambda _: None)
    )
    first, first_async = patiently(works), patiently(works_async)
    ten, ten_async = patiently(fails_ten_times(False)), patiently(fails_ten_times(True))
    guarded = patiently.replace(breaker=CircuitBreaker(failures=9, within=1, open_for=1))(works)
    one = at(N10).retry(call(works))
    failing = at(N10).retry(call(fails_ten_times(False)), ConnectionError)
    budget = RetryBudget(10**6, returned=10**6)

    @attempt
    def hundred() -> Do[Log, None]:
        for _ in range(100):
            yield from Log("")

    commands = at(N10).retry(hundred())

    def sync(function: Callable[[], object], *observers: Callable[[object], object]) -> Callable[[int], float]:
        def seconds(calls: int) -> float:
            with observed(*observers):
                begun = process_time()
                for _ in range(calls):
                    function()
                return process_time() - begun

        return seconds

    def awaited(function, *observers):
        async def seconds(calls: int) -> float:
            with observed(*observers):
                begun = process_time()
                for _ in range(calls):
                    await function()
                return process_time() - begun

        return lambda calls: asyncio.run(seconds(calls))

    def idle(_: object) -> None:
        """Do nothing."""

    return {
        "first": sync(first),
        "first-async": awaited(first_async),
        "first-breaker": sync(guarded),
        "ten-retries": sync(ten),
        "ten-retries-async": awaited(ten_async),
        "first-observed": sync(first, idle),
        "first-observed-async": awaited(first_async, idle),
        "ten-retries-observed": sync(ten, idle),
        "run": sync(lambda: one.run(answers)),
        "run-within": sync(lambda: one.run(answers, within=60)),
        "run-observed": sync(lambda: one.run(answers), idle),
        "run-ten-retries": sync(lambda: failing.run(answers, schedule=Constant(0))),
        "run-ten-retries-budget": sync(
            lambda: failing.run(answers, schedule=Constant(0), budget=budget)
        ),
        "commands": sync(lambda: commands.run(answers)),
        "commands-observed": sync(lambda: commands.run(answers), idle),
    }


class Checkout:
    """A process that measures a checkout."""

    def __init__(self, folder: Path) -> None:
        paths = f"{folder}{os.pathsep}{HERE}"  # the package of that folder, these benchmarks
        code = (
            f"import sys; sys.path[:0] = [{str(folder)!r}]; import ixbackoff; "
            f"sys.path[0] = {str(HERE)!r}; from benchmarks.against import measure; measure()"
        )
        self.process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": paths},
        )

    def seconds(self, what: str, calls: int) -> float:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(what, calls, file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())
