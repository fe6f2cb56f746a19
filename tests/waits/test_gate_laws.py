"""Each try that enters a gate is reported once, however it ends and wherever it runs."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import Any
from unittest.mock import MagicMock, Mock

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from typing_extensions import override

from ixbackoff import (
    N0,
    N2,
    N3,
    Call,
    CircuitOpen,
    ClientError,
    Crowded,
    DeadlineExceeded,
    Gate,
    Limiter,
    Misuse,
    NotReady,
    Program,
    ServerError,
    at,
    call,
    call_async,
    do,
)
from ixbackoff.fleet import BoundedQueue, simulate
from ixbackoff.live import live, live_async
from ixbackoff.testing import Virtual, always, answers, takes

from ..support.ways.gates import WAYS, Outcomes, Recorder, outcomes
from ..support.ways.programs import Ask

ASK = Ask("a")
FAILURES = [NotReady(), ServerError(503), ConnectionError(), CircuitOpen(0.0), ClientError(404)]
ENDS = (NotReady, ServerError, ConnectionError, CircuitOpen, ClientError, Crowded)


def calls_of(way: str, script: Outcomes, refused: frozenset[int]) -> list[str]:
    gate = Recorder(refused)
    with suppress(*ENDS):
        WAYS[way](gate, outcomes(script))
    assert gate.inside == 0, way
    return gate.calls


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.sampled_from(FAILURES), max_size=4),
    st.frozensets(st.integers(2, 5), max_size=3),
)
def test_a_gate_gets_the_same_calls_in_every_way_whatever_happens(
    failures: list[Exception], refused: frozenset[int]
) -> None:
    script: Outcomes = [*failures, 1]
    expected = calls_of("virtual", script, refused)
    assert {way: calls_of(way, script, refused) for way in WAYS} == dict.fromkeys(WAYS, expected)


def limited(effect: Any, gate: Gate, place: str) -> Program[Any, Any, Any, Any]:
    tried = do(effect)
    if place == "inside":
        return at(N0).do(tried.limit(0.02).through(gate))
    gated = tried.through(gate)
    return at(N0).do(gated.limit(0.02) if place == "outside" else gated)


def in_fleet(program: Program[Any, Any, Any, Any], **how: Any) -> None:
    simulate(program, BoundedQueue(9, work=5).serves(Ask), clients=1, seconds=20, **how)
    raise DeadlineExceeded


HANGING: dict[str, tuple[Any, Callable[..., Any]]] = {
    "asyncio": (
        call_async(asyncio.sleep, 60),
        lambda program, **how: asyncio.run(program.run_async(live_async(), **how)),
    ),
    "trio": (
        call_async(trio.sleep, 60),
        lambda program, **how: trio.run(lambda: program.run_async(live_async(), **how)),
    ),
    "virtual": (
        ASK,
        lambda program, **how: program.run(
            Virtual(Ask.handled_by(answers(takes(5, 1)))).interpreter, **how
        ),
    ),
    "fleet": (ASK, in_fleet),
}
"""Effects that hang, and the ways to run them."""


@pytest.mark.parametrize("place", ["inside", "outside", "of the run"])
@pytest.mark.parametrize("way", HANGING)
def test_a_deadline_is_a_failure_in_every_way(way: str, place: str) -> None:
    gate, (effect, run) = Recorder(), HANGING[way]
    with pytest.raises(DeadlineExceeded):
        run(limited(effect, gate, place), **({"within": 0.02} if place == "of the run" else {}))
    assert [heard.partition("(")[0] for heard in gate.calls] == [
        "enter",
        "hear DeadlineExceeded" if place == "inside" else "hear TimeoutError",
    ]


class Far(Recorder):
    """Each try stands in line for a minute."""

    @override
    def enter(self, now: float, came: float, until: float) -> float:
        super().enter(now, came, until)
        return now + 60


@pytest.mark.parametrize("kind", [Recorder, Far])
def test_a_cancelled_trio_task_leaves_in_line_and_inside(kind: type[Recorder]) -> None:
    gate = kind()

    async def cancelled() -> None:
        with trio.move_on_after(0.01):
            program = at(N0).do(do(call_async(trio.sleep, 60)).through(gate))
            await program.run_async(live_async())

    trio.run(cancelled)
    assert gate.calls == ["enter", "leave"]


@pytest.mark.parametrize("kind", [Recorder, Far])
def test_a_client_of_a_fleet_that_ends_leaves_in_line_and_inside(kind: type[Recorder]) -> None:
    gate = kind()
    program = at(N0).do(do(ASK).through(gate))
    simulate(program, BoundedQueue(9, work=5).serves(Ask), clients=1, seconds=0.01)
    gc.collect()
    assert gate.calls == ["enter", "leave"]


@pytest.mark.slow
def test_ten_thousand_cancelled_tasks_all_leave() -> None:
    class Line(Recorder):
        limiter = Limiter(1000, line=60)

        @override
        def enter(self, now: float, came: float, until: float) -> float:
            turn = self.limiter.enter(now, came, until)
            self.calls.append("enter")
            return turn

    gate = Line()

    async def cancelled() -> None:
        program = at(N2).retry(do(call(int)).through(gate))
        tasks = [asyncio.create_task(program.run_async(live_async())) for _ in range(10_000)]
        await asyncio.sleep(1)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(cancelled())
    assert gate.calls.count("enter") == 10_000
    assert gate.calls.count("leave") + gate.calls.count("hear None") == 10_000
    assert gate.calls.count("leave") > 1000


def test_a_program_inside_a_try_of_the_same_gate_is_a_try_of_its_own() -> None:
    gate = Recorder()
    program = at(N0).do(do(call(int)).through(gate))

    def inner() -> None:
        thread = Thread(target=program.run, args=(live(),))
        thread.start()
        thread.join()

    at(N0).do(do(call(inner)).through(gate)).run(live())
    assert [heard for heard in gate.calls if heard != "turn"] == [
        *("enter", "enter", "hear None", "hear None"),
    ]


class Answers(Gate):
    """A gate that gives a turn of its own."""

    def __init__(self, turn: float, later: bool) -> None:
        self.turn_given, self.later, self.left = turn, later, 0

    @override
    def enter(self, now: float, came: float, until: float) -> float:
        return now + 1 if self.later else self.turn_given

    @override
    def turn(self, turn: float, now: float, came: float, until: float) -> float:
        return self.turn_given

    @override
    def leave(self, now: float) -> None:
        self.left += 1


@pytest.mark.parametrize("later", [False, True])
class TestGatesOfUsers:
    @pytest.mark.parametrize("turn", [float("nan"), float("inf"), None, "0", 10**400])
    def test_a_turn_that_is_no_time_is_an_error(self, turn: Any, later: bool) -> None:
        gate, world = Answers(turn, later), Virtual(Ask.handled_by(always(1)))
        with pytest.raises(Misuse, match="return a finite time, or raise Crowded"):
            at(N2).retry(ASK).run(world.interpreter, through=gate)
        assert gate.left == (turn is not None)

    @pytest.mark.parametrize("turn", [-1e300, 0])
    def test_a_turn_in_the_past_is_now(self, turn: float, later: bool) -> None:
        world = Virtual(Ask.handled_by(always(1)))
        at(N2).retry(ASK).run(world.interpreter, through=Answers(turn, later))
        assert world.now == later


def test_a_gate_that_raises_fails_the_try() -> None:
    class Broken(Recorder):
        @override
        def enter(self, now: float, came: float, until: float) -> float:
            super().enter(now, came, until)
            self.inside -= 1  # it did not return
            raise ServerError(503)

    gate, world = Broken(), Virtual(Ask.handled_by(always(1)))
    with pytest.raises(ServerError):
        at(N3).retry(ASK).run(world.interpreter, through=gate)
    assert (gate.calls, gate.inside, len(world.waits)) == (["enter"] * 4, 0, 3)


class Unbound:
    """A proxy outside of its context."""

    def __getattr__(self, name: str) -> object:
        raise RuntimeError(name)


@pytest.mark.parametrize("make", [Mock, MagicMock, lambda: Mock(headers={"RateLimit": 5}), Unbound])
def test_an_answer_without_real_headers_is_an_answer(make: Callable[[], object]) -> None:
    answer = make()
    world = Virtual(Call.handled_by(always(answer)))
    limiter = Limiter(line=5)
    assert at(N0).do(call(int)).run(world.interpreter, through=limiter) is answer
    assert limiter.enter(0.0, 0.0, 60.0) == 0.0


def test_in_threads_none_is_missing_or_doubled() -> None:
    class Counting(Gate):
        entered, heard, left = 0, 0, 0

        @override
        def enter(self, now: float, came: float, until: float) -> float:
            self.entered += 1
            return now + 0.001 * (self.entered % 3)

        @override
        def hear(self, failure: Exception | None, now: float, began: float) -> None:
            self.heard += 1

        @override
        def leave(self, now: float) -> None:
            self.left += 1

    gate, failures = Counting(), [*FAILURES, None]

    def fail(number: int) -> None:
        time.sleep(0)
        failure = failures[number % len(failures)]
        if failure is not None:
            raise failure

    def work() -> None:
        for number in range(24):
            with suppress(*ENDS):
                at(N0).do(do(call(fail, number)).through(gate)).run(live())

    threads = [Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (gate.entered, gate.heard, gate.left) == (384, 320, 64)
