"""The cost of `@backoff` beside its peers: a first try, a retry, and what is left in memory.

All are measured in one process, sync and async (in one event loop), in turns, in CPU time. Sleeps
take no time, and nothing is logged. The garbage collector is off; if it were on, libraries that
leave cycles would come out slower.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Callable
from itertools import cycle, repeat
from statistics import median
from time import process_time
from typing import Any, NamedTuple
from weakref import ref

from . import peers
from .measuring import Target
from .peers import KINDS, LIMITS, NO_LIMIT_OF_TRIES, OURS, TRIES, WAITS, Function, Kinds

ROUNDS = 41
BLOCK = 0.008  # CPU seconds of one measurement
RETRIES = TRIES - 1
FIRST = "first try"


class Times(NamedTuple):
    """CPU microseconds of one call, from all rounds."""

    each: list[float]

    def __str__(self) -> str:
        return f"{median(self.each):.2f} ({min(self.each):.2f})"


class Row(NamedTuple):
    """The measurements of one library: its times, and what a failed call leaves in memory."""

    calls: dict[str, Times]
    alive: int = 0
    cycles: int = 0

    def retry(self, kind: str) -> tuple[float, float]:
        """Return the time of one retry, by medians and by minima."""
        first, last = self.calls[FIRST].each, self.calls[kind].each
        return (median(last) - median(first)) / RETRIES, (min(last) - min(first)) / RETRIES


Table = dict[str, Row]


class Measured(NamedTuple):
    sync: Table
    awaited: Table


def works() -> int:
    return 1


async def works_async() -> int:
    return 1


def fails_ten_times(asynchronous: bool) -> Function:
    """Make a function that fails ten times and then works, again and again."""
    fails = cycle([True] * RETRIES + [False])

    def function() -> int:
        if next(fails):
            raise ConnectionError
        return 1

    async def function_async() -> int:
        if next(fails):
            raise ConnectionError
        return 1

    return function_async if asynchronous else function


class Refused(ConnectionError):
    """A failure that supports weak references, unlike a built-in exception."""


class ForGood(Exception):
    """A failure that no library here tries again."""


class Failing:
    """A function that always fails, and the number of its failures that are still alive."""

    def __init__(self, last: int) -> None:
        self.last = last
        self.failures: list[ref[Exception]] = []

    def fail(self) -> None:
        for_good = len(self.failures) == self.last
        failure: Exception = ForGood() if for_good else Refused()
        self.failures.append(ref(failure))
        try:
            raise failure
        finally:
            del failure

    def function(self, asynchronous: bool) -> Function:
        def function() -> None:
            self.fail()

        async def function_async() -> None:
            self.fail()

        return function_async if asynchronous else function

    @property
    def alive(self) -> int:
        return sum(failure() is not None for failure in self.failures)


class Way:
    """A way to call functions: sync, or async in an event loop."""

    def __init__(self, runner: asyncio.Runner | None) -> None:
        self.runner = runner
        self.asynchronous = runner is not None

    def call(self, function: Function) -> Any:
        """Call a function once."""

        async def called() -> Any:
            return await function()

        return function() if self.runner is None else self.runner.run(called())

    def seconds(self, function: Function, calls: int) -> float:
        """Return the CPU seconds of `calls` calls."""

        async def awaited() -> float:
            begun = process_time()
            for _ in repeat(None, calls):
                await function()
            return process_time() - begun

        if self.runner is not None:
            return self.runner.run(awaited())
        begun = process_time()
        for _ in repeat(None, calls):
            function()
        return process_time() - begun

    def check(self, name: str, kind: str, decorator: Callable[[Function], Function]) -> None:
        """Check that a library does the measured job: ten retries, with the expected waits."""
        waits: list[float] = []

        async def sleep(seconds: float) -> None:
            waits.append(seconds)

        with peers.sleeping_with(waits.append, sleep):
            assert self.call(decorator(fails_ten_times(self.asynchronous))) == 1, name
        assert len(waits) == RETRIES, (name, kind, waits)
        if kind in WAITS:
            wrong = [(a, b) for a, b in zip(waits, WAITS[kind], strict=True) if abs(a - b) > 1e-6]
            assert not wrong, (name, kind, waits)

    def fails(self, function: Function) -> None:
        """Call a function once, and check that it fails."""

        async def failed() -> bool:
            try:
                await function()
            except Exception:
                return True
            return False

        if self.runner is not None:
            assert self.runner.run(failed())
            return
        try:
            function()
        except Exception:
            return
        raise AssertionError("it did not fail")

    def left(self, name: str, kinds: Kinds) -> tuple[int, int]:
        """Count what a failed call leaves: live exceptions, and objects in reference cycles."""
        alive = cycles = 0
        for decorator in kinds.values():
            failing = Failing(RETRIES if name in NO_LIMIT_OF_TRIES else sys.maxsize)
            function = decorator(failing.function(self.asynchronous))
            self.fails(function)  # objects that the first call makes once are not counted
            failing.failures.clear()
            gc.collect()
            self.fails(function)
            alive = max(alive, failing.alive)
            cycles = max(cycles, gc.collect())
            assert len(failing.failures) == TRIES, (name, len(failing.failures))
        return alive, cycles

    def table(self, libraries: dict[str, Kinds]) -> Table:
        """Measure all libraries, in turns."""
        measured: dict[tuple[str, str], Function] = {}
        left: dict[str, tuple[int, int]] = {}
        plain = works_async if self.asynchronous else works
        for name, kinds in libraries.items():
            measured[name, FIRST] = next(iter(kinds.values()))(plain) if kinds else plain
            for kind, decorator in kinds.items():
                self.check(name, kind, decorator)
                measured[name, kind] = decorator(fails_ten_times(self.asynchronous))
            left[name] = self.left(name, kinds)
        calls = {case: self.calls(function) for case, function in measured.items()}
        times: dict[tuple[str, str], list[float]] = {case: [] for case in measured}
        for _ in range(ROUNDS):
            for case, function in measured.items():
                times[case].append(self.seconds(function, calls[case]) / calls[case] * 1e6)
                gc.collect()
        return {
            name: Row(
                {case[1]: Times(each) for case, each in times.items() if case[0] == name}, *rest
            )
            for name, rest in left.items()
        }

    def calls(self, function: Function) -> int:
        """Return the number of calls that make up one measurement."""
        calls = 50
        while (seconds := self.seconds(function, calls)) < BLOCK / 4:
            calls *= 2
        return max(1, round(calls * BLOCK / seconds))


def measured(
    sync_libraries: Callable[[], dict[str, Kinds]] = peers.sync_libraries,
    async_libraries: Callable[[], dict[str, Kinds]] = peers.async_libraries,
) -> Measured:
    """Measure libraries; they are made where sleeps take no time."""
    gc.collect()
    gc.disable()
    try:
        with peers.sleeping_with(peers.no_sleep, peers.no_sleep_async):
            sync, awaited = sync_libraries(), async_libraries()
            gc.freeze()  # so that the collector does not look through what was imported each time
            with asyncio.Runner() as runner:
                return Measured(Way(None).table(sync), Way(runner).table(awaited))
    finally:
        gc.unfreeze()
        gc.enable()


def markdown(way: str, table: Table) -> str:
    """Format the table of one way as Markdown."""
    head = [way, FIRST]
    for kind in KINDS:
        head += [f"10 failures, {kind}", "a retry"]
    head += ["kept alive", "left to the collector"]
    rows = [head, ["---"] + ["---:"] * (len(head) - 1)]
    for name, row in table.items():
        cells = [name, str(row.calls[FIRST])]
        for kind in KINDS:
            if kind in row.calls:
                cells += [str(row.calls[kind]), f"{row.retry(kind)[0]:.2f}"]
            else:
                cells += ["", ""]
        cells += ["", ""] if len(row.calls) == 1 else [str(row.alive), str(row.cycles)]
        rows.append(cells)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


def beside(what: str, costs: dict[str, tuple[float, float]]) -> Target:
    """Compare our cost with the fastest peer's by medians; the detail has the ratio of minima."""
    own, own_least = costs[OURS]
    theirs = {name: cost for name, cost in costs.items() if name not in (OURS, *LIMITS)}
    peer = min(theirs, key=lambda name: theirs[name][0])
    fastest, least = theirs[peer]
    return Target(
        what,
        own / fastest,
        1,
        False,
        f"{own:.2f} and {fastest:.2f} us, {peer}; by minima {own_least / least:.2f}",
    )


def range_of(left: dict[str, int]) -> str:
    """Describe the least and the most among the peers."""
    peers_left = [count for name, count in left.items() if name not in (OURS, *LIMITS)]
    return f"{min(peers_left)} to {max(peers_left)}"


def targets(results: Measured, what: str = "@backoff") -> list[Target]:
    """Compare our costs with those of the fastest peer; `what` names the lines."""
    lines: list[Target] = []
    for way, table in (("sync", results.sync), ("async", results.awaited)):
        firsts = {name: row.calls[FIRST].each for name, row in table.items()}
        lines.append(
            beside(
                f"{what}, {way}: first try, beside the fastest",
                {name: (median(each), min(each)) for name, each in firsts.items()},
            )
        )
        lines += [
            beside(
                f"{what}, {way}: a retry, {kind}, beside the fastest",
                {name: row.retry(kind) for name, row in table.items() if kind in row.calls},
            )
            for kind in KINDS
        ]
        lines += [
            Target(f"{what}, {way}: {name}", left[OURS], 0, False, f"peers: {range_of(left)}")
            for name, left in (
                ("exceptions kept alive", {name: row.alive for name, row in table.items()}),
                ("left to the collector", {name: row.cycles for name, row in table.items()}),
            )
        ]
    return lines


def tables(results: Measured) -> str:
    return (
        "CPU microseconds a call, median (minimum); collector off, sleeps take none\n\n"
        f"{markdown('sync', results.sync)}\n\n{markdown('async', results.awaited)}"
    )


def main() -> None:
    results = measured()
    print(tables(results), end="\n\n")
    for target in targets(results):
        print(target)


if __name__ == "__main__":
    main()
