"""The laws of circuit breakers: one probe at a time, and a dead service is left alone."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import (
    FOREVER,
    N5,
    N20,
    CircuitBreaker,
    CircuitOpen,
    ClientError,
    Constant,
    Exponential,
    NotReady,
    Schedule,
    ServerError,
    Throttled,
    at,
    plan,
)
from ixbackoff.testing import Virtual, always

from ..support.ways.breakers import Model, refused
from ..support.ways.budgets import ASK, world_of
from ..support.ways.programs import Ask

eighths = st.integers(1, 800).map(lambda eighth: eighth / 8)  # so that sums are exact
limits = st.tuples(st.integers(1, 4), eighths, eighths)
steps = st.lists(
    st.tuples(
        st.integers(0, 200).map(lambda eighth: eighth / 8),
        st.sampled_from(["begin", "well", "fails", "stops"]),
        st.integers(0, 20),
    ),
    max_size=60,
)
failures = st.sampled_from([NotReady(), Throttled(3), ServerError(503), ClientError(400)])
scripts = st.lists(st.integers(0, 5) | failures, min_size=6, max_size=6)
schedules = st.sampled_from([Constant(0), Constant(1), Exponential(0.1), Exponential().jittered()])
ENDS: dict[str, bool | None] = {"well": True, "fails": False, "stops": None}


def made(drawn: tuple[int, float, float]) -> CircuitBreaker:
    number, within, rest = drawn
    return CircuitBreaker(failures=number, within=within, open_for=rest)


def end(breaker: CircuitBreaker, number: int, outcome: bool | None, now: float) -> None:
    if outcome is None:
        breaker.release(number)
    elif outcome:
        breaker.succeed(number)
    else:
        breaker.fail(number, now)


@given(limits, steps)
def test_it_does_what_its_documentation_says(
    drawn: tuple[int, float, float], steps: list[tuple[float, str, int]]
) -> None:
    breaker, model = made(drawn), Model(*drawn)
    running: list[tuple[int, Any]] = []
    now = 0.0
    for passed, what, which in steps:
        now += passed
        if what == "begin":
            try:
                number = breaker.admit(now)
            except CircuitOpen:
                assert model.ask(now) is None
            else:
                running.append((number, model.ask(now)))
                assert running[-1][1] is not None
        elif running:
            number, one = running.pop(which % len(running))
            end(breaker, number, ENDS[what], now)
            model.end(one, ENDS[what], now)
        assert breaker.closed == (model.until is None)


@given(limits, steps)
def test_there_are_never_two_probes_unless_one_has_hung(
    drawn: tuple[int, float, float], steps: list[tuple[float, str, int]]
) -> None:
    breaker, rest, now = made(drawn), drawn[2], 0.0
    probes: dict[int, float] = {}
    for passed, what, which in steps:
        now += passed
        probes = {probe: since for probe, since in probes.items() if now - since < rest}
        if what == "begin":
            was_closed = breaker.closed
            try:
                number = breaker.admit(now)
            except CircuitOpen:
                continue
            if not was_closed:
                assert not probes
                probes[number] = now
        else:
            number = [*probes, 0][which % (len(probes) + 1)]
            probes.pop(number, None)
            end(breaker, number, ENDS[what], now)


@given(limits, st.lists(eighths, min_size=1, max_size=30))
def test_one_that_is_open_tells_what_is_left_and_lets_a_try_through_then(
    drawn: tuple[int, float, float], moments: list[float]
) -> None:
    breaker, rest = made(drawn), drawn[2]
    for _ in range(drawn[0]):
        breaker.fail(0, 0.0)
    for moment in sorted(moments):
        if moment < rest:
            assert refused(breaker, moment) == rest - moment
    probe = breaker.admit(rest)
    assert all(rest <= refused(breaker, rest) < 3 * rest for _ in moments)
    breaker.succeed(probe)
    assert breaker.admit(rest) == 0


@given(limits, st.lists(scripts, max_size=8), schedules)
def test_no_wait_is_shorter_than_the_one_before_it_or_than_it_was_told(
    drawn: tuple[int, float, float], runs: list[list[Any]], schedule: Schedule
) -> None:
    breaker, now = made(drawn), 0.0
    for script in runs:
        world = world_of(*script)
        world.now = now
        try:
            at(N5).retry(ASK).run(world.interpreter, breaker=breaker, schedule=schedule)
        except (CircuitOpen, NotReady, Throttled, ServerError, ClientError):
            assert len(world.waits) <= 5
        assert world.waits == sorted(world.waits)
        told = [wait.failure for wait in map(delay_of, world.trace) if wait is not None]
        for reason, seconds in zip(told, world.waits, strict=True):
            if isinstance(reason, CircuitOpen):
                assert seconds >= (reason.retry_after or 0.0)
        now = world.now


def delay_of(performed: Any) -> Any:
    return performed.command if hasattr(performed.command, "seconds") else None


@given(limits, st.lists(scripts, max_size=8))
def test_a_program_never_asks_more_often_than_its_plan(
    drawn: tuple[int, float, float], runs: list[list[Any]]
) -> None:
    breaker, program = made(drawn), at(N5).retry(ASK)
    most, now = plan(program).commands.kinds[Ask], 0.0
    for script in runs:
        world = world_of(*script)
        world.now = now
        try:
            program.run(world.interpreter, breaker=breaker)
        except Exception:
            assert len(world.waits) <= 5
        assert world.commands.count(ASK) <= most
        now = world.now


@given(limits, st.integers(1, 30), schedules)
def test_a_dead_service_is_asked_at_most_once_in_a_rest(
    drawn: tuple[int, float, float], clients: int, schedule: Schedule
) -> None:
    breaker, rest = made(drawn), drawn[2]
    asked: list[float] = []
    now = 0.0
    for _ in range(clients):
        world = Virtual(Ask.handled_by(always(NotReady())))
        world.now = now
        try:
            at(N20).retry(ASK).run(world.interpreter, breaker=breaker, schedule=schedule)
        except (CircuitOpen, NotReady):
            now = world.now
        asked += [one.at for one in world.trace if one.command == ASK]
    gaps = [after - before for before, after in zip(asked, asked[drawn[0] :], strict=False)]
    # Of any failures + 1 in a row, either they took longer than `within`, or a rest is among them.
    assert all(gap > drawn[1] or gap >= rest * (1 - 1e-9) for gap in gaps)


@given(limits, st.integers(1, 40))
def test_it_is_closed_again_after_a_success(drawn: tuple[int, float, float], bad: int) -> None:
    breaker = made(drawn)
    world = world_of(*[NotReady()] * bad, 7)
    assert at(FOREVER).retry(ASK).run(world.interpreter, breaker=breaker) == 7
    assert breaker.closed
