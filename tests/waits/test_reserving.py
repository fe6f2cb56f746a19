"""`Reserve`: turns of many processes, in virtual time, in a fleet and in plans."""

from __future__ import annotations

import asyncio
import copy
import pickle
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import (
    N0,
    N1,
    N2,
    CircuitBreaker,
    Crowded,
    DeadlineExceeded,
    Limiter,
    Misuse,
    NotReady,
    Reserve,
    all_of,
    at,
    backoff,
    call,
    do,
    plan,
)
from ixbackoff._limits.rate_limiter import Turns
from ixbackoff.fleet import instantly, simulate, simulate_many
from ixbackoff.live import live, turns
from ixbackoff.observing import observed
from ixbackoff.testing import Virtual, always, answers, takes

from ..support.ways.programs import Ask

RESERVE = Reserve("api", 2, line=5)


@given(
    st.lists(st.tuples(st.floats(0, 3), st.floats(0, 20)), max_size=50),
    st.floats(0.1, 20),
    st.integers(1, 5),
)
def test_turns_are_those_of_a_limiter(
    steps: list[tuple[float, float]], rate: float, burst: int
) -> None:
    now, went, refused = 0.0, list[float](), list[float]()
    given = Turns(lambda: now)
    for passed, line in steps:
        now += passed
        try:
            wait = given(Reserve("api", rate, line=line, burst=burst))
        except Crowded as failure:
            refused.append((failure.retry_after or 0) - line)
        else:
            assert 0 <= wait <= line
            went.append(now + wait)
    assert all(beyond > 0 for beyond in refused)
    for first in range(len(went)):
        for last in range(first, len(went)):
            assert last - first + 1 <= (went[last] - went[first]) * rate + burst + 1e-6


def test_names_have_turns_of_their_own() -> None:
    given = Turns(lambda: 0.0)
    assert [given(Reserve(name, 2, line=5)) for name in ("a", "b", "a", "b")] == [0, 0, 0.5, 0.5]


class TestPrograms:
    def test_each_try_reserves_a_turn(self) -> None:
        world = Virtual(Ask.handled_by(answers(NotReady(), NotReady(), 1)))
        asked = do(Ask("a")).through(Reserve("api", 0.25, line=60))
        assert at(N2).retry(asked).run(world.interpreter) == 1
        assert (world.lines, world.waits) == ([3.0, 2.0], [1.0, 2.0])

    def test_a_try_without_a_turn_waits_on_its_ladder(self) -> None:
        world = Virtual(Ask.handled_by(always(1)))
        asked = do(Ask("a")).through(Reserve("api", 0.1, line=1))
        at(N1).do(Ask("b")).do(asked).retry(asked).run(world.interpreter)
        assert (world.lines, world.waits) == ([], [10.0])

    def test_a_turn_after_the_deadline_is_not_reserved(self) -> None:
        world = Virtual(Ask.handled_by(always(1)))
        asked = do(Ask("a")).through(Reserve("api", 0.1, line=60))
        program = at(N0).do(asked).do(asked)
        with pytest.raises(Crowded, match="comes in 10 s, and 5 s are left"):
            program.run(world.interpreter, within=5)
        assert at(N0).do(asked).run(world.interpreter) == 1
        assert world.lines == [10.0]

    def test_a_turn_of_a_handler_that_ignores_the_deadline_is_refused(self) -> None:
        world = Virtual(Ask.handled_by(always(1)) | Reserve.handled_by(always(7.0)))
        with pytest.raises(Crowded, match="comes in 7 s, and 5 s are left"):
            at(N0).do(do(Ask("a")).through(RESERVE)).run(world.interpreter, within=5)

    def test_the_deadline_bounds_the_question_for_a_turn(self) -> None:
        world = Virtual(Ask.handled_by(always(1)) | Reserve.handled_by(always(takes(9, 0.0))))
        with pytest.raises(DeadlineExceeded, match="Reserve was running"):
            at(N0).do(do(Ask("a")).through(RESERVE).limit(5)).run(world.interpreter)
        assert world.now == 5.0

    def test_a_failure_of_the_handler_is_a_failure_of_the_try(self) -> None:
        handlers = Ask.handled_by(always(1)) | Reserve.handled_by(answers(ConnectionError(), 0.0))
        world = Virtual(handlers)
        assert at(N1).retry(do(Ask("a")).through(RESERVE)).run(world.interpreter) == 1
        assert [type(one).__name__ for one in world.commands] == [
            *("Reserve", "Delay", "Reserve", "Ask")
        ]

    def test_what_is_written_last_is_outermost(self) -> None:
        limiter, breaker = Limiter(line=5), CircuitBreaker(failures=1, within=9, open_for=60)
        asked = do(Ask("a")).guarded(breaker).through(RESERVE).through(limiter)
        world = Virtual(Ask.handled_by(always(ConnectionError())))
        for failure in (ConnectionError, Exception):
            with pytest.raises(failure):
                at(N0).do(asked).run(world.interpreter)
        assert [type(one).__name__ for one in world.commands] == [
            *("Reserve", "Ask", "Reserve", "Delay")
        ]

    def test_a_resumed_attempt_asks_nothing_again(self) -> None:
        answered = Ask.handled_by(answers(1, 2, 3))
        world = Virtual(answered | Reserve.handled_by(answers(0.0, ConnectionError(), 0.0)))
        first, second = do(Ask("a")).through(RESERVE), do(Ask("b")).through(RESERVE)
        asked = do(Ask("c")).then(lambda _: first).then(lambda _: second)
        assert at(N1).resume(asked).run(world.interpreter) == 3
        assert [command.name for command in world.commands if isinstance(command, Ask)] == [
            *("c", "a", "b")
        ]

    def test_concurrent_effects_have_their_turns(self) -> None:
        world = Virtual(Ask.handled_by(always(1)))
        asked = do(Ask("a")).through(RESERVE)
        assert at(N0).do(all_of(asked, asked, asked)).run(world.interpreter) == (1, 1, 1)
        assert world.now == 1.0

    def test_asyncio_and_observers(self) -> None:
        world, seen = Virtual(Ask.handled_by(always(1))), list[str]()
        asked = do(Ask("a")).through(RESERVE)
        with observed(lambda event: seen.append(type(event).__name__)):
            asyncio.run(at(N0).do(asked).do(asked).run_async(world.interpreter))
        once = ["Issued", "Answered"]
        assert seen == ["Began", *once, *once, *once, "WaitBegan", *once, "Ended"]

    def test_a_process_has_its_own_turns(self) -> None:
        interpreter, times = live() | turns(), list[float]()
        asked = do(call(lambda: times.append(1))).through(Reserve("api", 0.01, line=0))
        at(N0).do(asked).run(interpreter)
        with pytest.raises(Crowded, match="in line for 0 s at most"):
            at(N0).do(asked).run(interpreter)
        assert times == [1]


class TestPlans:
    def test_a_plan_counts_the_questions_and_the_line(self) -> None:
        made = plan(at(N1).retry(do(Ask("a")).limit(3).through(RESERVE).limit(60)))
        assert "2 Reserve, 2 Ask" in str(made)
        assert (made.line, made.longest) == (5.0, 121.0)

    def test_a_missing_handler_is_named(self) -> None:
        with pytest.raises(Misuse, match="No handler for Reserve"):
            at(N0).do(do(call(int)).through(RESERVE)).run(live())  # type: ignore[arg-type]


def test_clients_of_a_fleet_keep_the_rate_together() -> None:
    asked = do(Ask("a")).through(Reserve("api", 10, line=60))
    served, program = instantly(Ask.handled_by(lambda _: 1)), at(N1).retry(asked)
    outcome = simulate(program, served, clients=50, seconds=10, think=0.1)
    assert outcome.total(lambda second: second.well) in (100, 101)
    sample = simulate_many(program, served, seeds=2, jobs=1, clients=50, seconds=10, think=0.1)
    assert {one.total(lambda second: second.well) for one in sample.results} <= {100, 101}


class TestArguments:
    @pytest.mark.parametrize(
        "wrong", [{"tries": 0}, {"per": 0}, {"line": -1}, {"burst": 0}, {"tries": float("inf")}]
    )
    def test_wrong_numbers_are_refused(self, wrong: dict[str, Any]) -> None:
        given: dict[str, Any] = {"name": "api", "tries": 1, "line": 1} | wrong
        with pytest.raises(ValueError, match=f"{next(iter(wrong))}="):
            Reserve(**given)

    def test_it_is_a_value(self) -> None:
        made = Reserve("api", 10, per=timedelta(minutes=1), line=5)
        assert repr(made) == "Reserve(name='api', tries=10.0, per=60.0, line=5.0, burst=1)"
        assert pickle.loads(pickle.dumps(made)) == copy.copy(made) == made  # noqa: S301

    def test_it_is_no_effect(self) -> None:
        untyped: Any = RESERVE
        world, later = Virtual(Ask.handled_by(always(1))), do(Ask("a")).then(lambda _: untyped)
        for use in (at(N0).do, at(N1).retry, do, lambda _: at(N0).do(later).run(world.interpreter)):
            with pytest.raises(Misuse, match=r"write do\(effect\).through"):
                use(untyped)

    def test_a_run_does_not_take_it(self) -> None:
        untyped: Any = RESERVE
        with pytest.raises(
            Misuse, match=r"through=Reserve.* only do\(effect\).through takes a Reserve"
        ):
            at(N0).do(Ask("a")).run(live() | Ask.handled_by(lambda _: 1), through=untyped)
        with pytest.raises(
            Misuse, match=r"through=Reserve.* only do\(effect\).through takes a Reserve"
        ):
            backoff(N1, through=untyped)
