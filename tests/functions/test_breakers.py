"""A function under `backoff` with a breaker does what the program of its call does."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import (
    FOREVER,
    N0,
    N1,
    N2,
    N3,
    Backoff,
    CircuitBreaker,
    CircuitOpen,
    ClientError,
    Misuse,
    NotReady,
    Throttled,
    backoff,
)
from ixbackoff._functions.default_interpreters import PLAIN, PLAIN_ASYNC
from ixbackoff.schedules import Constant, Exponential

from ..support.ways.breakers import Clock, clock
from ..support.ways.functions import Script

Way = Callable[[Backoff[Any], Script], Any]


def called(how: Backoff[Any], script: Script) -> Any:
    return how(script.ask)()


def as_program(how: Backoff[Any], script: Script) -> Any:
    program = how.program(script.ask)
    return program.run(PLAIN)


def in_a_block(how: Backoff[Any], script: Script) -> Any:
    for one_try in how:
        with one_try:
            return script.ask()
    raise AssertionError


def awaited(how: Backoff[Any], script: Script) -> Any:
    return asyncio.run(how(script.ask_async)())


def as_program_awaited(how: Backoff[Any], script: Script) -> Any:
    program = how.program_async(script.ask_async)
    return asyncio.run(program.run_async(PLAIN_ASYNC))


WAYS: list[Way] = [called, in_a_block, awaited, as_program_awaited]
outcomes = st.lists(
    st.integers(0, 5)
    | st.sampled_from(
        [
            NotReady,
            ConnectionResetError,
            lambda: Throttled(3),
            lambda: CircuitOpen(9),
            lambda: ClientError(404),
            lambda: Misuse("wrong"),
            KeyboardInterrupt,
        ]
    ),
    min_size=1,
    max_size=12,
)
breakers = st.builds(
    lambda failures, within, rest: {"failures": failures, "within": within, "open_for": rest},
    st.integers(1, 4),
    st.sampled_from([1.0, 10.0, 100.0]),
    st.sampled_from([0.5, 2.0, 30.0]),
)
rungs = st.sampled_from([N0, N1, N3])
schedules = st.sampled_from([Constant(0), Exponential(0.5)])


def seen(way: Way, how: Backoff[Any], script: Script, now: Clock) -> list[Any]:
    """What is visible from outside: of several calls, with time between them."""
    happened: list[Any] = []
    for _ in range(6):
        try:
            value = way(how, script)
        except BaseException as failure:
            told = getattr(failure, "retry_after", None)
            value = type(failure), told, getattr(failure, "__notes__", [])
        breaker: Any = how._settings.breaker
        happened.append(
            (value, script.calls, list(now.waits), breaker.state, breaker._times.copy())
        )
        now.now += 0.7
    return happened


@given(outcomes, breakers, rungs, schedules)
def test_every_way_does_what_the_program_does(
    script: list[Any], limits: dict[str, Any], rung: Any, schedule: Any
) -> None:
    def of(way: Way) -> list[Any]:
        how = backoff(rung, schedule=schedule, breaker=CircuitBreaker(**limits))
        with clock() as now:
            return seen(way, how, Script(script), now)

    first = of(as_program)
    for way in WAYS:
        assert of(way) == first, way


def test_a_stop_iteration_is_an_answer_as_in_a_program() -> None:
    breaker = CircuitBreaker(failures=1, within=1, open_for=1)
    with clock() as now:
        breaker.fail(0, now.now - 2)
        with pytest.raises(RuntimeError, match="StopIteration"):
            backoff(N3, breaker=breaker)(lambda: next(iter([])))()
    assert breaker.closed


def test_a_function_that_returns_a_coroutine_is_refused_as_without_a_breaker() -> None:
    async def late() -> int:
        return 1

    def returns_it() -> object:
        return late()

    breaker = CircuitBreaker(failures=1, within=1, open_for=1)
    how = backoff(N3, breaker=breaker)
    with pytest.raises(Misuse, match="not written with `async def`"):
        how(returns_it)()
    with clock() as now:
        breaker.fail(0, now.now - 2)
        with pytest.raises(Misuse, match="not written with `async def`"):
            how(returns_it)()
    assert breaker.state == "open"


def test_forever_is_refused_until_the_service_is_well() -> None:
    breaker = CircuitBreaker(failures=2, within=100, open_for=10)
    with clock() as now:
        script = Script([NotReady] * 6 + [7])
        assert called(backoff(FOREVER, schedule=Constant(1), breaker=breaker), script) == 7
        assert now.waits == sorted(now.waits)
    assert breaker.closed


def test_it_is_shown() -> None:
    breaker = CircuitBreaker(failures=2, within=100, open_for=10)
    assert repr(backoff(N3, breaker=breaker)) == f"backoff(N3, breaker={breaker!r})"


class Bug(Exception):
    """It is not `on`, so it counts as an answer."""


@pytest.mark.parametrize("kind", [NotReady, Bug])
@pytest.mark.parametrize("run", ["called", "awaited"])
def test_the_failure_of_a_probe_is_not_kept(run: str, kind: type[Exception]) -> None:
    def fail() -> int:
        raise kind

    async def fail_async() -> int:
        return fail()

    async def outcome(how: Backoff[Any]) -> weakref.ref[Exception]:
        try:
            await how(fail_async)() if run == "awaited" else how(fail)()
        except kind as failure:
            return weakref.ref(failure)
        raise AssertionError

    breaker = CircuitBreaker(failures=1, within=1, open_for=1)
    breaker.fail(0, -2.0)
    gc.collect()
    gc.disable()
    try:
        assert asyncio.run(outcome(backoff(N0, breaker=breaker)))() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("way", [one for one in (as_program, *WAYS) if one is not in_a_block])
def test_an_answer_that_is_not_wanted_does_not_open_the_breaker(way: Way) -> None:
    breaker = CircuitBreaker(failures=1, within=10, open_for=10)
    how = backoff(N2, breaker=breaker, until=lambda answer: answer == 3)
    with clock() as now:
        assert way(how, Script([1, 2, 3])) == 3
        assert now.waits == [1.0, 2.0]
    assert breaker.closed
