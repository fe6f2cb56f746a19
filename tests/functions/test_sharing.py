"""One `backoff` shared by many threads and tasks keeps nothing of the calls that have failed."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections import Counter, defaultdict
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import product
from typing import Any

import pytest
import trio

from ixbackoff import N5, Exponential, NotReady, RetryBudget, Schedule, Throttled, backoff, known
from ixbackoff._words.judging import ADDED, forget

from ..support.ways.functions import (
    ASYNC,
    SYNC,
    AnyBackoff,
    AsyncWay,
    Script,
    Way,
    decorated,
    program,
    seen,
    sleeps,
)

THREADS = 32
TASKS = 1000
FAILURES = range(6)
"""The failures of each call before it succeeds: as many as N5 allows, or fewer."""

jittered = Exponential().jittered().seeded(7)
steady = Exponential()
SCHEDULES = {"steady": steady, "jittered": jittered}
FORMS = ("decorated", "in a budget", "in time", "a block")


class Calls:
    """Functions that fail so often each, and the waits of each."""

    def __init__(self) -> None:
        self.tries: Counter[int] = Counter()
        self.waits: dict[int, list[float]] = defaultdict(list)

    def ask(self, number: int) -> int:
        self.tries[number] += 1
        if self.tries[number] <= FAILURES[number % len(FAILURES)]:
            raise NotReady
        return number


def made(form: str, schedule: Any) -> tuple[AnyBackoff, RetryBudget]:
    budget = RetryBudget(10**6, returned=0, returned_after_retry=0)
    limits: dict[str, Any] = {"in a budget": {"budget": budget}, "in time": {"within": 1e9}}
    return backoff(N5, schedule=schedule, **limits.get(form, {})), budget


def check(calls: Calls, answers: list[int], schedule: Any, form: str, budget: RetryBudget) -> None:
    """Check that each call has waited its own series, and that all totals are exact."""
    expected = schedule.preview(len(FAILURES))
    failures = {number: FAILURES[number % len(FAILURES)] for number in range(len(answers))}
    assert answers == list(range(len(answers)))
    assert calls.tries == {number: failed + 1 for number, failed in failures.items()}
    for number, failed in failures.items():
        assert calls.waits[number] == expected[:failed]
    if form == "in a budget":
        assert budget.left == 10**6 - sum(failures.values())


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
@pytest.mark.parametrize("form", FORMS)
def test_threads_share_one(form: str, schedule: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Calls()
    shared, budget = made(form, schedule)
    function = shared(calls.ask)
    mine = threading.local()
    all_there = threading.Barrier(THREADS)

    def sleep(seconds: float) -> None:
        calls.waits[mine.number].append(seconds)
        pause.wait(0.0005)  # so that another thread goes on

    def in_block(number: int) -> int:
        for one_try in shared:
            with one_try:
                return calls.ask(number)
        raise AssertionError("it neither returned nor raised")

    def call(number: int) -> int:
        mine.number = number
        if number < THREADS:
            all_there.wait()
        return in_block(number) if form == "a block" else function(number)

    pause = threading.Event()
    monkeypatch.setattr("time.sleep", sleep)
    with ThreadPoolExecutor(THREADS) as pool:
        answers = list(pool.map(call, range(4 * THREADS)))
    check(calls, answers, schedule, form, budget)


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
@pytest.mark.parametrize("form", FORMS)
def test_tasks_share_one(form: str, schedule: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Calls()
    shared, budget = made(form, schedule)
    numbers: dict[Any, int] = {}
    real_sleep = asyncio.sleep

    async def sleep(seconds: float) -> None:
        calls.waits[numbers[asyncio.current_task()]].append(seconds)
        await real_sleep(0)

    @shared
    async def function(number: int) -> int:
        await real_sleep(0)
        return calls.ask(number)

    async def in_block(number: int) -> int:
        async for one_try in shared:
            with one_try:
                await real_sleep(0)
                return calls.ask(number)
        raise AssertionError("it neither returned nor raised")

    async def call(number: int) -> int:
        numbers[asyncio.current_task()] = number
        return await (in_block(number) if form == "a block" else function(number))

    async def main() -> list[int]:
        return await asyncio.gather(*map(call, range(TASKS)))

    monkeypatch.setattr(asyncio, "sleep", sleep)
    check(calls, asyncio.run(main()), schedule, form, budget)


def test_chance_belongs_to_a_call_and_not_to_the_decorator() -> None:
    shared = backoff(N5, schedule=Exponential().jittered())
    first = seen(decorated, shared, [NotReady])
    second = seen(decorated, shared, [NotReady])
    assert first.waits != second.waits
    assert first.waits == sorted(first.waits)


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=list(SCHEDULES))
def test_no_call_waits_as_long_as_another_was_asked_to(schedule: Schedule) -> None:
    script = Script([lambda: Throttled(60), NotReady, 1, NotReady, NotReady, 1])
    function = backoff(N5, schedule=schedule)(script.ask)
    with sleeps() as waits:
        assert function() == function() == 1
    assert waits[:2] == [60, 60]
    assert waits[2:] == schedule.preview(2)


@pytest.fixture
def taken_back() -> Iterator[None]:
    """Take back what is added to what is known."""
    yield
    ADDED.clear()
    forget()


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=list(SCHEDULES))
@pytest.mark.usefixtures("taken_back")
def test_what_is_said_of_failures_holds_at_once(schedule: Schedule) -> None:
    """Also for a function that has tried again after them, and in the midst of a call."""

    def ask() -> int:
        outcome = next(outcomes)
        if isinstance(outcome, known.Verdict):
            known.register(ConnectionError, lambda _: outcome)
        if outcome == 1:
            return 1
        raise ConnectionError

    asked, refused = known.Verdict(True, retry_after=90), known.Verdict(False)
    outcomes = iter([None, None, 1, None, None, asked, None, 1, None, refused])
    function = backoff(N5, schedule=schedule)(ask)
    with sleeps() as waits:
        assert function() == function() == 1
        with pytest.raises(ConnectionError):
            function()
    assert waits == [*schedule.preview(2), *schedule.preview(2), 90, 90, 90]


def test_one_function_waits_in_whatever_runs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[str] = []

    def sleep_of(library: str) -> Callable[[float], Coroutine[Any, Any, None]]:
        async def sleep(_: float) -> None:
            slept.append(library)

        return sleep

    script = Script([NotReady, NotReady, 1])
    function = backoff(N5)(script.ask_async)
    monkeypatch.setattr(asyncio, "sleep", sleep_of("asyncio"))
    monkeypatch.setattr(trio, "sleep", sleep_of("trio"))
    for _ in range(2):
        assert asyncio.run(function()) == 1
        assert trio.run(function) == 1
    assert slept == ["asyncio", "asyncio", "trio", "trio"] * 2


def trio_run(coroutine: Coroutine[Any, Any, None]) -> None:
    async def main() -> None:
        await coroutine

    trio.run(main)


@pytest.fixture
def collector() -> Iterator[Callable[[], int]]:
    """Count the objects that only the garbage collector frees, since the last count."""
    gc.collect()
    gc.freeze()  # so that it has only what is made here to look at
    gc.disable()
    yield gc.collect
    gc.enable()


class Watched(Script):
    """A function that fails so often, and weak references to its exceptions."""

    def __init__(self, failures: int) -> None:
        super().__init__([])
        self.failures = failures
        self.watched: list[weakref.ref[NotReady]] = []

    def ask(self) -> int:
        self.calls += 1
        if self.calls > self.failures:
            return 1
        failure = NotReady()
        self.watched.append(weakref.ref(failure))
        try:
            raise failure
        finally:
            del failure

    @property
    def kept(self) -> int:
        return sum(one() is not None for one in self.watched)


def of_all_kinds() -> Iterator[tuple[AnyBackoff, int]]:
    """Make calls that succeed and calls that fail, with limits and without."""
    limits: list[dict[str, Any]] = [{}, {"within": 1e9}, {"budget": RetryBudget(10**6)}]
    for schedule, limit, failures in product(SCHEDULES.values(), limits, (0, 1, 3, 9)):
        yield backoff(N5, schedule=schedule, **limit), failures


@pytest.mark.parametrize("way", [program, *SYNC])
def test_no_exception_outlives_its_call(way: Way, collector: Callable[[], int]) -> None:
    """A call leaves nothing for the collector, whether it succeeds or fails."""

    def call(made: AnyBackoff, failures: int) -> Watched:
        watched = Watched(failures)
        with suppress(NotReady):
            way(made, watched)
        return watched

    with sleeps():
        for made, failures in of_all_kinds():
            call(made, failures)  # objects that are made only once are made now
            collector()
            watched = call(made, failures)
            assert (watched.calls, watched.kept) == (min(failures + 1, 6), 0)
            assert collector() == 0


@pytest.mark.parametrize("run", [asyncio.run, trio_run], ids=["asyncio", "trio"])
@pytest.mark.parametrize("way", ASYNC)
def test_no_exception_outlives_its_awaited_call(
    way: AsyncWay, run: Any, collector: Callable[[], int]
) -> None:
    """As for sync calls; garbage of the event loop itself does not count."""

    async def call(made: AnyBackoff, failures: int) -> Watched:
        watched = Watched(failures)
        with suppress(NotReady):
            await way(made, watched)
        return watched

    async def main() -> None:
        for made, failures in of_all_kinds():
            await call(made, failures)
            collector()
            watched = await call(made, failures)
            assert (watched.calls, watched.kept) == (min(failures + 1, 6), 0)
            assert collector() == 0

    with sleeps():
        run(main())


def test_a_failed_try_is_forgotten_before_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(3)
    kept: list[int] = []
    monkeypatch.setattr("time.sleep", lambda seconds: kept.append(watched.kept))
    backoff(N5)(watched.ask)()
    assert kept == [0, 0, 0]
