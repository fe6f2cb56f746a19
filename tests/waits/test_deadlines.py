"""Deadlines and limits: commands that they refuse, end, or leave as they are."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from time import monotonic
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import (
    N0,
    N1,
    N2,
    N3,
    N7,
    Call,
    ClientError,
    DeadlineExceeded,
    Do,
    Misuse,
    NotReady,
    Now,
    RetryBudget,
    ServerError,
    Throttled,
    all_of,
    at,
    attempt,
    backoff,
    call,
    do,
    time_limit,
    unroll,
)
from ixbackoff._limits.deadlines import Left
from ixbackoff._words.standard_commands import CLOCK
from ixbackoff.testing import Virtual, VirtualAsync, always, answers, takes, waited

from ..support.ways.attempts import Broken, clean_up, guarded, holding, two_of_them, work
from ..support.ways.late import late
from ..support.ways.programs import Ask

# A run in virtual time looks the same whichever way it runs.


Run: TypeAlias = Callable[[Any, Any, float | None], Any]


def virtual(program: Any, world: Any, within: float | None) -> Any:
    return program.run(world.interpreter, within=within)


def virtual_in_asyncio(program: Any, world: Any, within: float | None) -> Any:
    return asyncio.run(program.run_async(world.interpreter, within=within))


def awaited_world(script: Any) -> Any:
    async def answer(command: Ask) -> Any:
        await asyncio.sleep(0)
        return script(command)

    return VirtualAsync(Ask.awaited_by(answer))


def plain_world(script: Any) -> Any:
    return Virtual(Ask.handled_by(script))


WAYS: dict[str, tuple[Callable[[Any], Any], Run]] = {
    "run": (plain_world, virtual),
    "run_async": (plain_world, virtual_in_asyncio),
    "run_async, awaited": (awaited_world, virtual_in_asyncio),
}
each_way = pytest.mark.parametrize(("world_of", "run"), WAYS.values(), ids=WAYS)


@each_way
def test_no_wait_is_begun_that_leaves_no_time_for_another_try(world_of: Any, run: Run) -> None:
    last = ServerError(503)
    script = [takes(0.5, NotReady()), takes(0.5, NotReady()), takes(0.5, NotReady())]
    world = world_of(answers(*script, takes(0.5, last)))
    with pytest.raises(ServerError) as raised:
        run(at(N7).retry(work), world, 10)
    assert raised.value is last
    assert world.now == 9
    world.expect(work, waited(1), work, waited(2), work, waited(4), work)
    assert last.__notes__ == [
        "ixbackoff: not tried again: a wait of 8 s would not end before the deadline of 10 s",
        "ixbackoff: tries: 4, waits: 3, 7 s in all",
    ]


def test_a_failure_that_is_raised_again_and_again_has_the_note_once() -> None:
    failure = NotReady("kept")
    for _ in range(3):
        with pytest.raises(NotReady):
            virtual(at(N7).retry(work), plain_world(always(failure)), 0.5)
    assert failure.__notes__ == [
        "ixbackoff: not tried again: a wait of 1 s would not end before the deadline of 0.5 s",
        "ixbackoff: tries: 1, waits: 0, 0 s in all",
    ]


@each_way
def test_what_is_running_at_the_deadline_is_ended_there(world_of: Any, run: Run) -> None:
    world = world_of(answers(takes(2, NotReady()), takes(60, 1)))
    program = at(N3).retry(work).or_else(Ask("never"), on=Exception)
    with pytest.raises(DeadlineExceeded) as raised:
        run(program, world, 5)
    assert str(raised.value) == "not done within 5 s (Ask was running)"
    assert isinstance(raised.value.__cause__, TimeoutError)
    assert raised.value.__notes__ == ["ixbackoff: tries: 2, waits: 1, 1 s in all"]
    assert world.now == 5


def test_what_an_ended_attempt_made_of_it_gives_its_notes_to_the_failure() -> None:
    failure = Broken()
    failure.add_note("half of it was there")
    world = Virtual(Ask.handled_by(answers(takes(60, 1))))
    with pytest.raises(DeadlineExceeded) as raised:
        at(N0).do(holding(BaseException, failure).limit(5)).run(world.interpreter)
    assert raised.value.__notes__[0] == "half of it was there"


@each_way
def test_the_finally_blocks_of_an_ended_attempt_are_carried_out(world_of: Any, run: Run) -> None:
    world = world_of(answers(takes(60, 1), takes(3, 0)))
    with pytest.raises(DeadlineExceeded):
        run(at(N3).retry(guarded(), on=lambda failure: True), world, 5)
    world.expect(work, clean_up)
    assert world.now == 8  # what cleans up has the time that it needs


@each_way
def test_the_deadline_holds_while_an_attempt_cleans_up_after_its_own_limit(
    world_of: Any, run: Run
) -> None:
    world = world_of(answers(takes(60, 1), takes(60, 0)))
    with pytest.raises(DeadlineExceeded):
        run(at(N0).do(do(guarded()).limit(5)), world, 8)
    world.expect(work, clean_up)
    assert world.now == 8


@each_way
def test_a_limit_is_for_each_try_and_a_deadline_for_all(world_of: Any, run: Run) -> None:
    slow = at(N7).retry(do(work).limit(2))
    world = world_of(always(takes(60, 1)))
    with pytest.raises(DeadlineExceeded, match="not done within 2 s") as raised:
        run(slow, world, 12)
    world.expect(work, waited(1), work, waited(2), work)  # at 0, 3 and 7; the next would be at 13
    assert world.now == 9
    note = raised.value.__notes__[0]
    assert note.endswith("a wait of 4 s would not end before the deadline of 12 s")
    world = world_of(always(takes(60, 1)))
    with pytest.raises(DeadlineExceeded, match="not done within 8 s"):
        run(slow, world, 8)
    assert world.now == 8


def test_an_answer_that_comes_late_is_an_answer_and_what_follows_is_not_begun() -> None:
    world = Virtual(Ask.handled_by(lambda command: late(world, 7)))
    assert at(N0).do(work).run(world.interpreter, within=5) == 7
    world = Virtual(Ask.handled_by(lambda command: late(world, 7)))
    with pytest.raises(DeadlineExceeded, match=r"not done within 5 s \(before Ask\)"):
        at(N0).do(two_of_them()).run(world.interpreter, within=5)
    world.expect(Ask("first"))


def test_handlers_are_told_what_they_may_take() -> None:
    told: list[float | None] = []

    def answer(command: Ask) -> int:
        told.append(time_limit())
        return takes(1, 0)

    world = Virtual(Ask.handled_by(answer))
    program = at(N0).do(do(two_of_them()).limit(5)).do(two_of_them()).do(guarded())
    program.run(world.interpreter, within=7.5)
    assert told == [5, 4, 5.5, 4.5, 3.5, 2.5]
    program.run(world.interpreter)
    assert told[6:] == [5, 4, None, None, None, None]
    assert time_limit() is None


def test_a_wait_of_a_program_that_is_well_may_end_at_the_deadline_and_not_after_it() -> None:
    program = at(N1).do(work).wait()
    world = Virtual(Ask.handled_by(always(takes(2, 7))))
    assert program.run(world.interpreter, within=3) == 7
    world = Virtual(Ask.handled_by(always(takes(2, 7))))
    with pytest.raises(DeadlineExceeded, match="a wait of 1 s would not end before the deadline"):
        program.or_else(work, on=Exception).run(world.interpreter, within=2.5)
    world.expect(work)


def test_what_would_begin_at_the_deadline_itself_is_too_late() -> None:
    world = Virtual(Ask.handled_by(answers(takes(2, NotReady()))))
    with pytest.raises(NotReady):
        at(N1).retry(work).run(world.interpreter, within=3)  # the wait would end there
    assert world.waits == []
    clock = [0.0]
    tells_the_time = Now.handled_by(lambda _: sum(clock))

    def takes_a_while(_: Ask) -> int:
        clock.append(2.5)
        return 1

    works = Ask.handled_by(takes_a_while)
    with pytest.raises(DeadlineExceeded, match=r"not done within 5 s \(before Ask\)"):
        at(N0).do(work).do(work).do(work).run(tells_the_time | works, within=5)
    assert len(clock) == 3
    assert Left(1.0, until=monotonic() - 1).refuses(0.0), "no time is left around it"


def test_after_the_deadline_no_alternative_is_begun() -> None:
    alternative = at(N2).retry(Ask("instead"))
    program = at(N3).do(work).backoff() | alternative
    world = Virtual(Ask.handled_by(answers(takes(60, 1))))
    with pytest.raises(DeadlineExceeded):
        program.run(world.interpreter, within=5)
    world.expect(work)
    world = Virtual(Ask.handled_by(answers(takes(4.5, NotReady()))))
    with pytest.raises(NotReady):
        program.run(world.interpreter, within=5)
    world.expect(work)


def test_after_a_limit_an_alternative_is_begun() -> None:
    world = Virtual(Ask.handled_by(answers(takes(60, 1), 7)))
    assert at(N0).do(do(work).limit(5)).or_else(Ask("instead")).run(world.interpreter) == 7
    assert world.now == 5


def test_a_retry_after_that_is_too_long_ends_the_program_at_once() -> None:
    world = Virtual(Ask.handled_by(answers(Throttled(3600))))
    with suppress(Throttled):
        at(N3).retry(work).run(world.interpreter, within=60)
    assert world.now == 0


@pytest.mark.parametrize("failure", [KeyError("a bug"), ClientError(404)])
def test_what_never_passes_is_not_tried_again_also_when_it_comes_late(failure: Exception) -> None:
    def answer(_: Ask) -> int:
        late(world, 1)
        raise failure

    world = Virtual(Ask.handled_by(answer))
    with pytest.raises(type(failure)) as caught:
        at(N3).retry(do(work).limit(5)).run(world.interpreter)
    assert caught.value is failure
    with pytest.raises(type(failure)):
        at(N3).retry(work).run(world.interpreter, within=5)
    assert world.commands == [work, work]


# Resuming.


def test_a_resumed_attempt_has_its_time_anew() -> None:
    world = Virtual(Ask.handled_by(answers(takes(3, 1), takes(60, 2), takes(3, 2))))
    with world:
        assert at(N3).resume(do(two_of_them()).limit(5)).run(world.interpreter) == 3
    first, second = Ask("first"), Ask("second")
    world.expect(first, second, waited(1), second)
    assert world.now == 5 + 1 + 3


def test_a_resumed_attempt_within_a_deadline() -> None:
    world = Virtual(Ask.handled_by(answers(takes(3, 1), NotReady(), takes(60, 2))))
    with pytest.raises(DeadlineExceeded):
        at(N3).resume(two_of_them()).run(world.interpreter, within=10)
    world.expect(Ask("first"), Ask("second"), waited(1), Ask("second"))
    assert world.now == 10


def test_resume_after_a_deadline_before_a_command_with_cleaning_up() -> None:
    @attempt
    def cleaning() -> Do[Ask, int]:
        try:
            first = yield from Ask("first")
            return first + (yield from Ask("second"))
        finally:
            yield from clean_up

    given = [1, 0, 2, 0]

    def answer(command: Ask) -> int:
        if len(given) == 4:
            late(world, 1)
        return given.pop(0)

    world = Virtual(Ask.handled_by(answer))
    assert at(N1).resume(do(cleaning()).limit(5)).run(world.interpreter) == 3
    world.expect(Ask("first"), clean_up, waited(1), Ask("second"), clean_up)


def test_resume_gives_a_caught_failure_again_after_a_deadline_in_its_handler() -> None:
    asked: list[str] = []

    @attempt
    def rescued() -> Do[Ask, int]:
        try:
            return (yield from Ask("first"))
        except ServerError:
            yield from Ask("slow")
            return (yield from Ask("rescue"))

    def answer(command: Ask) -> int:
        asked.append(command.name)
        if command.name == "first":
            raise ServerError(503)
        if command.name == "slow":
            late(world, 1)
        return 7

    world = Virtual(Ask.handled_by(answer))
    assert at(N1).resume(do(rescued()).limit(5)).run(world.interpreter) == 7
    assert asked == ["first", "slow", "rescue"]


# Budgets.


def test_a_wait_that_is_not_begun_costs_no_budget() -> None:
    budget = RetryBudget(5, cost=2)
    world = Virtual(Ask.handled_by(always(NotReady())))
    with pytest.raises(NotReady) as raised:
        at(N3).retry(work).run(world.interpreter, within=2, budget=budget)
    assert budget.left == 3  # one wait was begun
    assert "would not end before the deadline" in raised.value.__notes__[0]


def test_an_empty_budget_ends_a_program_before_its_deadline() -> None:
    world = Virtual(Ask.handled_by(always(NotReady())))
    with pytest.raises(NotReady) as raised:
        at(N3).retry(work).run(world.interpreter, within=100, budget=RetryBudget(1, cost=1))
    assert "the retry budget is empty" in raised.value.__notes__[0]
    world.expect(work, waited(1), work)


def test_a_budget_that_needs_the_time_is_told_it() -> None:
    world = Virtual(Ask.handled_by(answers(NotReady(), takes(60, 1))))
    with pytest.raises(DeadlineExceeded):
        at(N3).retry(work).run(world.interpreter, within=5, budget=RetryBudget.finagle())
    assert world.now == 5


# Programs in handlers.


def test_a_program_in_a_handler_has_the_time_of_what_is_around_it() -> None:
    inner = Virtual(Ask.handled_by(always(takes(3, 1))))
    program = at(N0).do(two_of_them())

    def late_too(command: Call[Any]) -> Any:
        """A handler that takes the same time around its inner program as inside it."""
        try:
            return command()
        finally:
            world.now += inner.now

    world = Virtual(Call[Any].handled_by(late_too))

    def nested() -> int:
        return program.run(inner.interpreter, within=60)

    with pytest.raises(DeadlineExceeded, match="not done within 5 s"):
        at(N0).do(call(nested)).run(world.interpreter, within=5)
    inner.expect(Ask("first"), Ask("second"))
    assert inner.now == 5
    assert time_limit() is None


def test_effects_at_once_in_a_handler_need_no_clock_for_a_limit_around_them() -> None:
    clockless = Ask.handled_by(lambda command: 1)
    inner = at(N0).do(all_of([work, work]))
    world = Virtual(Call[Any].handled_by(lambda command: command()))
    program = at(N0).do(do(call(lambda: inner.run(clockless))).limit(5))
    assert program.run(world.interpreter) == [1, 1]


# Bad input.

never_a_limit: Any = None
NO_SECONDS = [
    float("nan"),
    float("inf"),
    -float("inf"),
    "5",
    [],
    10**400,
    timedelta,
    datetime(2026, 1, 1),
]
NO_TIME = [0, -1, -0.5, timedelta(0), timedelta(seconds=-1), timedelta.min]


def never(command: Ask) -> int:
    pytest.fail(f"{command} was issued")


@pytest.mark.parametrize("seconds", NO_SECONDS)
def test_what_is_no_time_is_refused_before_anything_is_done(seconds: Any) -> None:
    world = Virtual(Ask.handled_by(never))
    program = at(N1).retry(work)
    message = "give a finite number of seconds, or a timedelta"
    with pytest.raises(ValueError, match=f"within=.*{message}"):
        program.run(world.interpreter, within=seconds)
    with pytest.raises(ValueError, match=f"within=.*{message}"):
        asyncio.run(program.run_async(world.interpreter, within=seconds))
    with pytest.raises(ValueError, match=f"within=.*{message}"):
        unroll(program, within=seconds)
    for limit in (seconds, never_a_limit):
        with pytest.raises(ValueError, match=f"limit=.*{message}"):
            do(work).limit(limit)


@attempt
def never_begun() -> Do[Ask, int]:
    try:
        return (yield from work)
    finally:
        yield from clean_up


@pytest.mark.parametrize("seconds", NO_TIME, ids=repr)
def test_with_no_time_left_it_is_too_late_before_anything_is_asked(seconds: Any) -> None:
    world = Virtual(Ask.handled_by(never))
    program = at(N3).retry(never_begun(), on=Exception).or_else(work, on=Exception)
    for run in (program.run, lambda *given, **how: asyncio.run(program.run_async(*given, **how))):
        with pytest.raises(DeadlineExceeded, match=r"not done within .* s: there was no time to b"):
            run(world.interpreter, within=seconds)
    assert world.commands == []
    stream = unroll(program, within=seconds)
    assert next(stream) is CLOCK
    with pytest.raises(DeadlineExceeded):
        stream.send(0.0)


@pytest.mark.parametrize("seconds", NO_TIME, ids=repr)
def test_a_function_with_no_time_left_is_not_called(seconds: Any) -> None:
    calls: list[int] = []
    made = backoff(N1, within=seconds, on=Exception)
    with pytest.raises(DeadlineExceeded):
        made(calls.append)(1)
    with pytest.raises(DeadlineExceeded):
        next(iter(made))
    assert calls == []


def test_an_attempt_with_no_time_left_fails_at_once_and_is_tried_again() -> None:
    world = Virtual(Ask.handled_by(never))
    for retry in (at(N1).retry(do(work).limit(0)), at(N1).resume(do(work).limit(timedelta(0)))):
        with pytest.raises(DeadlineExceeded, match="not done within 0 s: there was no time"):
            retry.run(world.interpreter)
    assert world.waits == [1, 1]
    assert len(world.commands) == 2


def test_a_limit_in_an_attempt_with_no_time_left_is_resumed_where_it_stands() -> None:
    world = Virtual(Ask.handled_by(answers(1)))
    program = at(N1).resume(do(work).then(lambda _: do(clean_up).limit(0)))
    with pytest.raises(DeadlineExceeded):
        program.run(world.interpreter)
    assert world.commands[0] == work


@given(st.timedeltas(timedelta(microseconds=1), timedelta(days=1000)))
def test_a_timedelta_is_its_seconds(length: timedelta) -> None:
    limits: list[float | None] = []
    world = Virtual(Ask.handled_by(lambda _: limits.append(time_limit())))  # type: ignore[arg-type, return-value]
    at(N1).do(work).end().run(world.interpreter, within=length)
    at(N0).do(do(work).limit(length)).run(world.interpreter)
    assert limits == [length.total_seconds()] * 2
    backoff(N1, within=length).run(work, world.interpreter)
    assert limits[2:] == [length.total_seconds()]


def test_a_deadline_needs_a_clock_and_says_so_before_anything_is_done() -> None:
    watching: Any = Ask.handled_by(never)
    with pytest.raises(Misuse, match=r"No handler for Now: .*interpreter \| Now.handled_by"):
        at(N0).do(work).run(watching, within=5)
    with pytest.raises(Misuse, match="No handler for Now"):
        asyncio.run(at(N0).do(work).run_async(watching, within=5))


def test_a_limit_needs_a_clock_and_says_so_before_its_attempt_has_begun() -> None:
    watching: Any = Ask.handled_by(never)
    program: Any = at(N0).do(do(work).limit(5)).or_else(work, on=Exception)
    with pytest.raises(Misuse, match="No handler for Now"):
        program.run(watching)
    with pytest.raises(Misuse, match="No handler for Now"):
        asyncio.run(program.run_async(watching))
