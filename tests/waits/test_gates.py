"""Gates: a try goes through them at once, stands in line, or is refused."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Event as Signal
from threading import Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import (
    FOREVER,
    N0,
    N2,
    N3,
    CircuitBreaker,
    CircuitOpen,
    ClientError,
    Crowded,
    DeadlineExceeded,
    Delay,
    Do,
    Limiter,
    Log,
    Misuse,
    NotReady,
    Now,
    RetryBudget,
    ServerError,
    Stopped,
    Throttle,
    all_of,
    at,
    attempt,
    backoff,
    call,
    call_async,
    do,
    first_of,
    plan,
    unroll,
)
from ixbackoff.live import live, live_async
from ixbackoff.observing import Ended, Event, WaitBegan, observed
from ixbackoff.testing import Virtual, always, answers, takes

from ..support.ways.gates import WAYS, Recorder, outcomes
from ..support.ways.interrupted import Interrupt
from ..support.ways.programs import Ask

ASK = Ask("a")
FAILURES = st.sampled_from([NotReady(), ServerError(503), ConnectionError(), CircuitOpen(0.0)])


@pytest.mark.parametrize("way", WAYS)
def test_a_gate_gets_the_same_calls_in_every_way(way: str) -> None:
    gate = Recorder(refused=frozenset({3}))
    WAYS[way](gate, outcomes([ServerError(503), 1]))
    assert gate.calls == [
        *("enter", "hear None"),
        *("enter", "turn", "hear ServerError(503, None)"),
        "refuse",
        *("enter", "turn", "hear None"),
    ]
    assert gate.inside == 0


@given(st.lists(FAILURES, max_size=3), st.sets(st.integers(1, 4)))
def test_each_try_that_enters_is_heard_or_leaves_once(
    failures: list[Exception], refused: set[int]
) -> None:
    gate = Recorder(refused=frozenset(refused))
    script: list[int | Exception] = [*failures, 1, 1, 1]
    world = Virtual(Ask.handled_by(answers(*script)))
    with suppress(Crowded, NotReady, ServerError, ConnectionError, CircuitOpen):
        at(N3).retry(do(ASK).through(gate)).run(world.interpreter)
    heard = [call for call in gate.calls if call.startswith("hear") or call == "leave"]
    assert len(heard) == gate.calls.count("enter")
    assert gate.inside == 0
    silent = sum(isinstance(failure, CircuitOpen) for failure in failures[: len(heard)])
    assert gate.calls.count("leave") == silent


@given(st.lists(FAILURES, max_size=4))
def test_the_waits_of_the_ladder_are_those_without_a_gate(failures: list[Exception]) -> None:
    worlds = []
    for through in (None, Limiter(5, line=60)):
        world = Virtual(Ask.handled_by(answers(*failures, 1, 1)))
        with suppress(NotReady, ServerError, ConnectionError, CircuitOpen):
            at(N3).retry(ASK).run(world.interpreter, through=through)
        worlds.append(world)
    assert worlds[0].waits == worlds[1].waits
    assert worlds[0].lines == []


def reasons_in(reasons: list[str]) -> Callable[[Event], None]:
    def observer(event: Event) -> None:
        if isinstance(event, Ended):
            reasons.append(event.reason)

    return observer


class TestStandingInLine:
    def test_it_takes_no_rung_and_is_on_none(self) -> None:
        world = Virtual(Ask.handled_by(always(1)))
        limiter = Limiter(1, line=10)
        at(N0).do(do(ASK).through(limiter)).do(do(ASK).through(limiter)).run(world.interpreter)
        assert (world.lines, world.waits, world.now) == ([1.0], [], 1.0)
        (line,) = [one for one in world.commands if isinstance(one, Delay)]
        assert (line.rung, line.run, line.failure) == (0, None, None)

    def test_no_attempt_can_issue_it_again(self) -> None:
        seen: list[Any] = []
        handlers = Virtual(Ask.handled_by(always(1))).interpreter | Delay.handled_by(seen.append)

        @attempt
        def smuggling() -> Do[Any, None]:
            yield seen[0]

        limiter = Limiter(1, line=10)
        program = at(N0).do(do(ASK).through(limiter)).do(do(ASK).through(limiter))
        program.run(handlers)
        with pytest.raises(Misuse, match="An attempt cannot wait"):
            at(N0).do(smuggling()).run(handlers)

    def test_a_limit_inside_begins_after_it_and_one_outside_before(self) -> None:
        for inside, expected in ((True, 1), (False, None)):
            limiter = Limiter(0.5, line=10)
            limiter.enter(0.0, 0.0, 60.0)
            world = Virtual(Ask.handled_by(answers(takes(1, 1))))
            asked = do(ASK).limit(1.5).through(limiter) if inside else do(ASK).through(limiter)
            program = at(N0).do(asked if inside else asked.limit(1.5))
            if expected is not None:
                assert program.run(world.interpreter) == expected
                continue
            with pytest.raises(Crowded, match=r"comes in 2 s, and 1.5 s are left"):
                program.run(world.interpreter)

    @pytest.mark.parametrize("bound", [True, False])
    def test_a_turn_after_the_deadline_is_refused(self, bound: bool) -> None:
        gate = Recorder(bound=bound)  # a gate may ignore the deadline
        gate.next = 5.0
        world = Virtual(Ask.handled_by(always(1)))
        with pytest.raises(Crowded):
            at(N2).retry(ASK).run(world.interpreter, through=gate, within=3)
        assert gate.inside == 0
        assert world.lines == []
        assert world.now < 3

    def test_a_refused_place_is_not_reserved(self) -> None:
        limiter = Limiter(1, line=100)
        limiter.enter(0.0, 0.0, 100.0)
        limiter.enter(0.0, 0.0, 100.0)
        with pytest.raises(Crowded):
            limiter.enter(0.0, 0.0, 1.5)
        assert limiter.enter(0.0, 0.0, 100.0) == 2.0

    def test_a_budget_does_not_pay_for_it(self) -> None:
        budget, limiter = RetryBudget(1), Limiter(1, line=10)
        world = Virtual(Ask.handled_by(always(1)))
        for _ in range(4):
            at(N2).retry(ASK).run(world.interpreter, through=limiter, budget=budget)
        assert budget.left == 1

    def test_a_stop_ends_it(self) -> None:
        stop, limiter = Signal(), Limiter(0.01, line=1000)
        limiter.enter(0.0, 0.0, 1e9)

        def stopping(_: Delay) -> None:
            stop.set()

        handlers = Virtual(Ask.handled_by(always(1))).interpreter | Delay.handled_by(stopping)
        reasons: list[str] = []
        with (
            observed(reasons_in(reasons)),
            pytest.raises(Stopped),
        ):
            at(N2).retry(ASK).run(handlers, through=limiter, stop=stop)
        assert reasons == ["stopped"]

    @pytest.mark.parametrize(
        "recovering",
        [
            lambda asked: at(N0).do(asked).or_else(ASK, on=Exception),
            lambda asked: at(N0).do(asked).or_bind(lambda _: at(N0).do(ASK), on=Exception),
            lambda asked: at(N0).do(asked.or_else(ASK, on=Exception)),
            lambda asked: at(N2).retry(asked, on=Exception),
            lambda asked: at(N0).do(first_of([asked, ASK], start=0, on=Exception)),
        ],
        ids=["or_else", "or_bind", "or_else of an attempt", "retry", "first_of"],
    )
    def test_no_step_recovers_from_a_stop(self, recovering: Callable[[Any], Any]) -> None:
        stop, limiter = Signal(), Limiter(0.01, line=1000)
        limiter.enter(0.0, 0.0, 1e9)
        world = Virtual(Ask.handled_by(always(1)))
        handlers = world.interpreter | Delay.handled_by(lambda _: stop.set())
        with pytest.raises(Stopped):
            recovering(do(ASK).through(limiter)).run(handlers, stop=stop)
        assert ASK not in world.commands

    def test_observers_see_it_on_rung_0(self) -> None:
        seen: list[tuple[float, int]] = []
        limiter, world = Limiter(1, line=10), Virtual(Ask.handled_by(always(1)))

        def see(event: Event) -> None:
            if isinstance(event, WaitBegan):
                seen.append((event.seconds, event.rung))

        with observed(see):
            at(N0).do(ASK).do(ASK).run(world.interpreter, through=limiter)
        assert seen == [(1.0, 0)]


class TestRefusals:
    def test_a_refusal_is_a_failure_that_waits_on_the_ladder(self) -> None:
        gate = Recorder(refused=frozenset({1, 2}))
        world = Virtual(Ask.handled_by(always(1)))
        assert at(N2).retry(ASK).run(world.interpreter, through=gate) == 1
        assert world.waits == [1.0, 2.0]

    def test_it_waits_as_long_as_the_gate_says(self) -> None:
        limiter = Limiter(0.1, line=1)
        world = Virtual(Ask.handled_by(always(1)))
        at(N2).retry(ASK).run(world.interpreter, through=limiter)
        at(N2).retry(ASK).run(world.interpreter, through=limiter)
        assert world.waits == [10.0]

    def test_the_last_one_ends_the_run_as_crowded(self) -> None:
        reasons: list[str] = []
        world = Virtual(Ask.handled_by(always(1)))
        gate = Recorder(refused=frozenset({1}))
        with (
            observed(reasons_in(reasons)),
            pytest.raises(Crowded, match="not asked"),
        ):
            at(N0).do(ASK).run(world.interpreter, through=gate)
        assert reasons == ["crowded"]

    def test_a_breaker_inside_is_not_asked_and_one_outside_hears_nothing(self) -> None:
        breaker = CircuitBreaker(failures=1, within=10, open_for=30)
        world = Virtual(Ask.handled_by(always(1)))
        with pytest.raises(Crowded):
            at(N0).do(ASK).run(
                world.interpreter, through=Recorder(refused=frozenset({1})), breaker=breaker
            )
        with pytest.raises(Crowded):
            at(N0).do(do(ASK).through(Recorder(refused=frozenset({1}))).guarded(breaker)).run(
                world.interpreter
            )
        assert breaker.closed

    def test_an_open_breaker_inside_says_nothing_to_a_gate(self) -> None:
        breaker, gate = CircuitBreaker(failures=1, within=10, open_for=30), Recorder()
        world = Virtual(Ask.handled_by(always(NotReady())))
        for _ in range(2):
            with pytest.raises((NotReady, CircuitOpen)):
                at(N0).do(ASK).run(world.interpreter, through=gate, breaker=breaker)
        assert [call for call in gate.calls if call != "turn"] == [
            *("enter", "hear NotReady()"),
            *("enter", "leave"),
        ]

    def test_commands_that_need_no_service_go_through_no_gate(self) -> None:
        gate = Recorder(refused=frozenset({1}))
        world = Virtual(Ask.handled_by(always(1)))
        at(N0).do(Log("ready")).do(Now()).run(world.interpreter, through=gate)
        assert gate.calls == []

    def test_several_gates_are_asked_from_the_outside(self) -> None:
        order: list[str] = []

        class Named(Recorder):
            def __init__(self, name: str) -> None:
                super().__init__()
                self.name = name

            def enter(self, now: float, came: float, until: float) -> float:  # noqa: ARG002
                order.append(self.name)
                return now

        world = Virtual(Ask.handled_by(always(1)))
        inner = do(ASK).through(Named("c")).through(Named("b"))
        at(N0).do(inner).run(world.interpreter, through=[Named("x"), Named("a")])
        assert order == ["x", "a", "b", "c"]


class Stop(BaseException):
    """As Ctrl-C."""


class TestInterrupts:
    @pytest.mark.parametrize("kind", [Ask, Delay, Now])
    @pytest.mark.parametrize("number", range(6))
    def test_every_try_that_entered_leaves(self, kind: Any, number: int) -> None:
        gate, count = Recorder(), iter(range(100))
        world = Virtual(Ask.handled_by(answers(NotReady(), 1, 1)))

        def interrupting(command: Any, handler: Any) -> Any:
            if next(count) == number:
                raise Stop
            return handler(command)

        part = kind.handled_as_in(world.interpreter).around(interrupting)
        program = at(N2).retry(do(ASK).through(gate)).do(do(ASK).through(gate))
        with suppress(Stop):
            program.run(world.interpreter | part)
        assert gate.inside == 0

    @pytest.mark.slow
    @pytest.mark.filterwarnings("ignore")
    @pytest.mark.parametrize("way", ["sync", "sync, of the run", "resumed", "function", "block"])
    def test_ctrl_c_at_every_place_leaves_no_try_inside(
        self, way: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.CRITICAL, "ixbackoff")
        # In a thread of its own: CPython 3.11 can leave an exception that a tracer has cut off as
        # the one that the thread is handling, and later failures would have it as their context.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(self.strike_everywhere, way).result()

    def strike_everywhere(self, way: str) -> None:
        gc.collect()
        gc.freeze()  # so that it has only what is made here to look at
        place, struck = 1, "unknown"
        while struck:
            gate, interrupt = Recorder(), Interrupt(place)
            sys.settrace(interrupt)
            with suppress(KeyboardInterrupt):
                try:
                    WAYS[way](gate, outcomes([ServerError(503), 1]))
                finally:
                    sys.settrace(None)
            struck = interrupt.struck
            if gate.inside:
                gc.collect()  # of a stream that was interrupted between two commands
            if struck != "STORE_FAST":  # of the result of `enter`: CPython looks before, not after
                assert gate.inside == 0, f"at {place}, before {struck}"
            place += 1
        assert place > 100

    def test_a_closed_stream_leaves(self) -> None:
        gate = Recorder()
        for steps in range(1, 4):
            stream = unroll(at(N2).retry(ASK), through=gate)
            command = stream.send(None)
            for _ in range(steps - 1):
                command = stream.send(command.__class__ is Now and 0.0)
            stream.close()
            assert gate.inside == 0

    async def cancelled(self, effect: Any) -> None:
        task = asyncio.create_task(at(N0).do(effect).run_async(live_async()))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    def test_a_cancelled_task_leaves_in_line_and_inside(self) -> None:
        inside = Recorder()
        asyncio.run(self.cancelled(do(call_async(asyncio.sleep, 60)).through(inside)))
        assert inside.calls == ["enter", "leave"]

        class Long(Recorder):
            def enter(self, now: float, came: float, until: float) -> float:
                super().enter(now, came, until)
                return now + 60

        waiting = Long()
        asyncio.run(self.cancelled(do(call(int)).through(waiting)))
        assert waiting.calls == ["enter", "leave"]

    def test_a_deadline_that_breaks_off_a_try_is_a_failure(self) -> None:
        gate = Recorder()
        program = at(N0).do(do(call_async(asyncio.sleep, 60)).through(gate).limit(0.02))
        with pytest.raises(DeadlineExceeded):
            asyncio.run(program.run_async(live_async()))
        assert gate.calls == ["enter", "hear TimeoutError()"]

    def test_branches_that_are_aborted_leave(self) -> None:
        gate = Recorder()
        world = Virtual(Ask.handled_by(lambda ask: int(ask.name)))
        asks = [do(Ask(name)).through(gate) for name in ("1", "2", "x", "3")]
        with pytest.raises(ValueError, match="x"):
            at(N0).do(all_of(asks)).run(world.interpreter)
        assert gate.inside == 0


class TestOnce:
    def test_a_gate_is_around_a_try_once(self) -> None:
        gate, world = Recorder(), Virtual(Ask.handled_by(always(1)))
        program = at(N0).do(do(ASK).through(gate))
        with pytest.raises(Misuse, match="A try goes through one gate twice"):
            program.run(world.interpreter, through=gate)

    def test_a_function_inside_another_one_does_not_count_twice(self) -> None:
        gate, other = Recorder(), Recorder()
        inner = backoff(N2, through=(gate, other), nested="once")(lambda: 0)
        outer = backoff(N2, through=gate, nested="once")(lambda: inner())
        assert outer() == 0
        assert gate.calls == other.calls == ["enter", "hear None"]

    @pytest.mark.parametrize("wrong", [5, Limiter, "ab", [None], RetryBudget(1)])
    def test_anything_else_is_refused(self, wrong: Any) -> None:
        world = Virtual(Ask.handled_by(always(1)))
        with pytest.raises(Misuse, match="is not a gate"):
            do(ASK).through(wrong)
        with pytest.raises(Misuse, match="is not a gate"):
            at(N0).do(ASK).run(world.interpreter, through=wrong)
        with pytest.raises(Misuse, match="is not a gate"):
            backoff(N2, through=wrong)

    def test_a_missing_clock_is_named(self) -> None:
        handlers: list[Any] = [Ask.handled_by(lambda _: 1), Now.handled_by(lambda _: 0.0)]
        for kinds in handlers:
            with pytest.raises(Misuse, match="handler"):
                at(N0).do(ASK).run(kinds, through=Recorder())


class TestPlans:
    def test_a_plan_counts_the_line(self) -> None:
        limited = do(ASK).limit(3).through(Limiter(2, line=5))
        known = plan(at(N2).retry(limited))
        assert (known.line, known.longest, known.seconds) == (5.0, 3 + 3 * 8, 3.0)
        assert str(known).endswith("each try may stand in line for 5 s at most")

    def test_a_limit_outside_bounds_it(self) -> None:
        known = plan(at(N2).retry(do(ASK).through(Limiter(2, line=5)).limit(3)))
        assert (known.line, known.longest) == (3.0, 3 + 3 * 3)

    def test_a_function_has_the_line_of_its_gates(self) -> None:
        retried = backoff(N2, through=[Limiter(2, line=5), Throttle()], each=3)(print)
        assert (plan(retried).line, plan(retried).longest) == (5.0, 3 + 3 * 8)

    def test_a_throttle_has_no_line_and_other_gates_one_without_end(self) -> None:
        assert "line" not in str(plan(at(N2).retry(do(ASK).through(Throttle()))))
        known = plan(at(N2).retry(do(ASK).limit(3).through(Recorder())))
        assert known.longest is None
        assert str(known).endswith("each try may stand in line")


def test_a_gate_of_64_threads_hears_each_try_once() -> None:
    gate = Limiter(100_000, line=60)
    begun: list[float] = []

    def work() -> None:
        for _ in range(20):
            at(N0).do(do(call(begun.append, 0.0)).through(gate)).run(live())

    threads = [Thread(target=work) for _ in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(begun) == 64 * 20


def test_a_client_error_is_heard_as_it_is() -> None:
    heard: list[Any] = []

    class Hears(Recorder):
        def hear(self, failure: Exception | None, now: float, began: float) -> None:
            super().hear(failure, now, began)
            heard.append(failure)

    failure = ClientError(404)
    world = Virtual(Ask.handled_by(always(failure)))
    with pytest.raises(ClientError):
        at(FOREVER).retry(ASK).run(world.interpreter, through=Hears())
    assert heard == [failure]
