"""A hedged try: the answer is that of one copy, in every way to run it."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import (
    N0,
    N1,
    N2,
    Call,
    CircuitBreaker,
    ClientError,
    Command,
    DeadlineExceeded,
    Do,
    Limiter,
    Log,
    Misuse,
    Now,
    ServerError,
    Throttled,
    Upload,
    all_of,
    at,
    attempt,
    call,
    call_async,
    do,
    is_transient,
    plan,
    read,
    read_async,
)
from ixbackoff.live import live, live_async
from ixbackoff.observing import Answered, Ended, Event, Hedged, Issued, observed
from ixbackoff.testing import Virtual, always, answers, takes

from ..support.ways.hedges import MODELLED, REAL, SLOW, UNIT, Copy, Get, hedged, slow_after

TRANSIENT = [ServerError(503), Throttled(9.0), Throttled(60.0)]
OUTCOMES = st.sampled_from([1, *TRANSIENT, ClientError(404)])
FIRST = st.builds(Copy, st.sampled_from([1.0, 2.0, 6.0, 9.0]), OUTCOMES)
SECOND = st.builds(Copy, st.sampled_from([1.0, 3.0, 7.0]), OUTCOMES)


def expected(first: Copy, second: Copy) -> Any:
    """What comes of two copies, by the rules."""
    if first.seconds <= SLOW:
        return first.outcome
    ended = sorted([first, Copy(SLOW + second.seconds, second.outcome)])
    for copy in ended:
        if not isinstance(copy.outcome, Exception) or not may_be_awaited(copy.outcome):
            return copy.outcome
    return ended[0].outcome


def may_be_awaited(failure: Exception) -> bool:
    """Whether the other copy may still be answered; a Retry-After is for the ladder at once."""
    return is_transient(failure) and not getattr(failure, "retry_after", None)


def outcome_of(run: Any, script: list[Copy]) -> Any:
    try:
        return run(script)
    except Exception as failure:
        return failure


@given(FIRST, SECOND)
def test_the_modelled_ways_follow_the_rules(first: Copy, second: Copy) -> None:
    for run in MODELLED.values():
        found = outcome_of(run, [first, second._replace(outcome=numbered(second.outcome))])
        assert repr(found) == repr(
            expected(first, second._replace(outcome=numbered(second.outcome)))
        )


def numbered(outcome: Any) -> Any:
    return 2 if outcome == 1 else outcome


CASES = {
    "the first is not slow": (Copy(1, 1), Copy(1, 2)),
    "the copy is faster": (Copy(20, 1), Copy(1, 2)),
    "the first is faster after all": (Copy(7, 1), Copy(20, 2)),
    "a failure before it is slow": (Copy(1, ServerError(503)), Copy(1, 2)),
    "the copy fails": (Copy(12, 1), Copy(1, ServerError(503))),
    "the first fails": (Copy(7, ServerError(503)), Copy(8, 2)),
    "both fail": (Copy(7, ServerError(503)), Copy(8, Throttled(9.0))),
    "the copy finds nothing": (Copy(20, 1), Copy(1, ClientError(404))),
}


@pytest.mark.parametrize("way", REAL)
@pytest.mark.parametrize("case", CASES)
def test_the_real_ways_follow_the_rules(way: str, case: str) -> None:
    first, second = CASES[case]
    assert repr(outcome_of(REAL[way], [first, second])) == repr(expected(first, second))


class TestLosers:
    def test_a_task_is_cancelled_and_has_ended(self) -> None:
        ended: list[str] = []

        async def slow() -> str:
            if ended:
                return "copy"
            try:
                ended.append("begun")
                await asyncio.sleep(60)
            finally:
                await asyncio.sleep(0)
                ended.append("cleaned")
            return "late"

        async def run() -> tuple[str, int]:
            program = hedged(slow_after(UNIT), read_async(slow))
            return await program.run_async(live_async()), len(asyncio.all_tasks())

        assert asyncio.run(run()) == ("copy", 1)
        assert ended == ["begun", "cleaned"]

    def test_a_cancellation_ends_both(self) -> None:
        cancelled: list[int] = []

        async def slow() -> None:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                cancelled.append(1)
                raise

        async def run() -> None:
            program = hedged(slow_after(UNIT), read_async(slow))
            async with asyncio.timeout(UNIT * 5):
                await program.run_async(live_async())

        with pytest.raises(TimeoutError):
            asyncio.run(run())
        assert cancelled == [1, 1]

    def test_a_thread_is_not_waited_for_and_issues_nothing_more(self) -> None:
        go, issued = threading.Event(), list[str]()

        def first() -> str:
            if issued:
                return "copy"
            issued.append("first")
            go.wait(10)
            return "late"

        @attempt
        def two() -> Do[Any, str]:
            found = yield from read(first)
            yield from Log(found)
            return found

        seen: list[str] = []
        handlers = live() | Log.handled_by(lambda command: seen.append(command.message))
        hedge = slow_after(UNIT)
        before = threading.active_count()
        assert at(N0).do(two().hedged(hedge)).run(handlers) == "copy"
        assert threading.active_count() == before + 1
        assert not hedge.copy(0.0)
        go.set()
        while threading.active_count() > before:
            time.sleep(0.001)
        assert seen == ["copy"]

    def test_a_thread_that_never_ends_holds_its_token(self) -> None:
        go = threading.Event()
        hedge = slow_after(0.001)
        before = threading.active_count()
        for _ in range(1000):
            hedge.begin()
        for _ in range(40):
            asked = iter([True, False])

            def stuck(asked: Any = asked) -> int:
                return go.wait(0.1) if next(asked) else 1

            hedged(hedge, read(stuck)).run(live())
        assert threading.active_count() - before <= 11
        go.set()
        while threading.active_count() > before:
            time.sleep(0.001)

    def test_a_loser_leaves_nothing_for_the_collector(self) -> None:
        for run in REAL.values():
            gc.collect()
            gc.disable()
            try:
                run([Copy(6, 1), Copy(1, 2)])
                time.sleep(UNIT * 8)
                outcome_of(run, [Copy(6, ServerError(503)), Copy(3, ServerError(503))])
                found = gc.collect()
            finally:
                gc.enable()
            assert found < 2000  # asyncio.run and trio.run leave some themselves


class TestDeadlines:
    @pytest.mark.parametrize("limit", [5.0, 3.0])
    def test_both_copies_end_at_the_deadline(self, limit: float) -> None:
        world = Virtual(Get.handled_by(answers(takes(60, 1), takes(60, 2))))
        with pytest.raises(DeadlineExceeded):
            at(N0).do(do(Get()).hedged(slow_after()).limit(limit)).run(world.interpreter)
        assert world.now == limit
        assert len(world.commands) == (2 if limit > SLOW else 1)

    def test_a_copy_is_in_time(self) -> None:
        world = Virtual(Get.handled_by(answers(takes(60, 1), takes(0.5, 2))))
        asked = do(Get()).hedged(slow_after()).limit(5)
        assert at(N0).do(asked).run(world.interpreter) == 2

    def test_in_real_time(self) -> None:
        program = hedged(slow_after(UNIT), read_async(asyncio.sleep, 60))
        begun = time.monotonic()
        with pytest.raises(DeadlineExceeded):
            asyncio.run(program.run_async(live_async(), within=UNIT * 4))
        assert time.monotonic() - begun < 5


BREAKER = CircuitBreaker(failures=2, within=10, open_for=30)


@attempt
def secretly(command: Command[Any]) -> Do[Any, Any]:
    return (yield from command)


@attempt
def inside(effect: Any) -> Do[Any, Any]:
    return (yield from effect)


class TestRefusals:
    @pytest.mark.parametrize(
        ("effect", "message"),
        [
            (Upload("a", "memory:///a"), "Upload may not be issued twice: derive it from Repeat"),
            (call(len, "a"), r"Call may not be issued twice: make it with read\(\.\.\.\) if a "),
            (call_async(asyncio.sleep, 1), r"CallAsync may not .* make it with read_async\(\.\.\."),
            (Now(), "Now may not be issued twice"),
            (do(Get()).hedged(slow_after()), "A hedge inside a hedge would ask four times"),
            (do(Get()).limit(3), "A hedge has no limit, breaker or gate inside: write it after"),
            (do(Get()).through(Limiter(line=1)), "A hedge has no limit, breaker or gate inside"),
            (do(Get()).guarded(BREAKER), "A hedge has no limit, breaker or gate inside"),
            (all_of(Get(), Upload("a", "memory:///a")), "Upload may not be issued twice"),
            (do(Get()).or_else(Upload("a", "memory:///a")), "Upload may not be issued twice"),
        ],
    )
    def test_what_is_known_is_refused_before_the_run(self, effect: Any, message: str) -> None:
        with pytest.raises(Misuse, match=message):
            do(effect).hedged(slow_after())

    @pytest.mark.parametrize("way", ["sync", "async"])
    @pytest.mark.parametrize("nested", [False, True])
    def test_what_is_known_later_is_refused_before_the_command(
        self, way: str, nested: bool
    ) -> None:
        done: list[int] = []
        effect: Any = secretly(call(done.append, 1))
        asked = all_of(effect, inside(all_of(effect, read(int)))) if nested else effect
        program = hedged(slow_after(), inside(asked))
        run: Any = {
            "sync": lambda: program.run(live()),
            "async": lambda: asyncio.run(program.run_async(live_async())),
        }[way]
        with pytest.raises(Misuse, match="Call may not be issued twice"):
            run()
        assert done == []

    def test_a_hedge_that_is_known_later_is_refused(self) -> None:
        world = Virtual(Get.handled_by(always(1)))
        inner = do(Get()).hedged(slow_after())
        with pytest.raises(Misuse, match="would ask four times"):
            hedged(slow_after(), inside(inner)).run(world.interpreter)
        assert world.commands == []

    def test_effects_of_an_all_of_inside_may_be_repeatable(self) -> None:
        world = Virtual(Get.handled_by(answers(takes(9, 1), takes(9, 2), takes(1, 3), takes(1, 4))))
        program = hedged(slow_after(), all_of(Get(), Get()))
        assert program.run(world.interpreter) == (3, 4)


class TestBesideOthers:
    def test_hedges_in_an_all_of_are_ended_with_it(self) -> None:
        go = threading.Event()

        def fail() -> None:
            time.sleep(UNIT)
            raise ClientError(404)

        both = all_of(do(read(go.wait, 0.2)).hedged(slow_after(UNIT / 2)), call(fail))
        with pytest.raises(ClientError):
            at(N0).do(both).run(live())

    def test_a_resumed_try_takes_the_answer_of_the_hedge_again(self) -> None:
        world = Virtual(
            Get.handled_by(answers(takes(9, 1), takes(1, 2)))
            | Call.handled_by(answers(ServerError(503), "done"))
        )
        asked = do(Get()).hedged(slow_after()).then(lambda _: call(str, "done"))
        assert at(N2).resume(asked).run(world.interpreter) == "done"
        assert sum(isinstance(one, Get) for one in world.commands) == 2

    def test_a_plan_counts_both(self) -> None:
        counted = plan(at(N1).retry(do(Get()).hedged(slow_after())))
        assert str(counted).endswith("commands: 4 Get")


class TestObservers:
    @pytest.mark.parametrize("way", [*REAL, "virtual"])
    def test_each_copy_is_issued_and_ends_before_the_run(self, way: str) -> None:
        events: list[Event] = []
        with observed(events.append):
            {**REAL, **MODELLED}[way]([Copy(12, 1), Copy(1, 2)])
            time.sleep(0 if way == "virtual" else UNIT * 15)
        issued = [event for event in events if isinstance(event, Issued)]
        ended = [event.issued for event in events if isinstance(event, Answered)]
        assert len(issued) == 3
        assert sorted(map(id, issued)) == sorted(map(id, ended))
        assert isinstance(events[-1], Ended)
        (one,) = [event for event in events if isinstance(event, Hedged)]
        assert one.won
        assert one.after >= SLOW * (1 if way == "virtual" else UNIT)
        assert one.run is issued[0].run

    def test_a_try_without_a_copy_has_no_event(self) -> None:
        events: list[Event] = []
        with observed(events.append):
            MODELLED["virtual"]([Copy(1, 1)])
        assert not [event for event in events if isinstance(event, Hedged)]
