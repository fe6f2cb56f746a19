"""Deadlines: what is not begun, what is ended, and what is left as it is."""

from __future__ import annotations

import asyncio
import gc
import time
import weakref
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import (
    N0,
    N1,
    N2,
    N3,
    N7,
    Budget,
    Call,
    ClientError,
    Constant,
    DeadlineExceeded,
    Delay,
    Do,
    Interpreter,
    Log,
    Misuse,
    NotReady,
    Now,
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
from ixbackoff.testing import (
    Unscripted,
    Virtual,
    VirtualAsync,
    always,
    answers,
    takes,
    waited,
)

from ..language.test_laws import effects, lasting, programs, schedules, transient
from ..support.observing import Ask

work, clean_up = Ask("work"), Ask("clean up")


@attempt
def guarded() -> Do[Ask, int]:
    try:
        return (yield from Ask("work"))
    finally:
        yield from Ask("clean up")


@attempt
def two_of_them() -> Do[Ask, int]:
    first = yield from Ask("first")
    return first + (yield from Ask("second"))


class Stop(BaseException):
    """Stands for KeyboardInterrupt."""


# What a run in virtual time looks like, whichever way it runs.

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
        "ixbackoff: not tried again: a wait of 8 s would end after the deadline, 10 s in all",
        "ixbackoff: attempts made: 4, waits: 3, 7 s in all",
    ]


@each_way
def test_what_is_running_at_the_deadline_is_ended_there(world_of: Any, run: Run) -> None:
    world = world_of(answers(takes(2, NotReady()), takes(60, 1)))
    program = at(N3).retry(work).or_else(Ask("never"), on=Exception)
    with pytest.raises(DeadlineExceeded) as raised:
        run(program, world, 5)
    assert str(raised.value) == "not done within 5 s (Ask was running)"
    assert isinstance(raised.value.__cause__, TimeoutError)
    assert raised.value.__notes__ == ["ixbackoff: attempts made: 2, waits: 1, 1 s in all"]
    assert world.now == 5


@each_way
def test_the_finally_blocks_of_an_ended_attempt_are_carried_out(world_of: Any, run: Run) -> None:
    world = world_of(answers(takes(60, 1), takes(3, 0)))
    with pytest.raises(DeadlineExceeded):
        run(at(N3).retry(guarded(), on=lambda failure: True), world, 5)
    world.expect(work, clean_up)
    assert world.now == 8  # what cleans up has the time that it needs


@each_way
def test_a_limit_is_for_each_try_and_a_deadline_for_all(world_of: Any, run: Run) -> None:
    slow = at(N7).retry(do(work).limit(2))
    world = world_of(always(takes(60, 1)))
    with pytest.raises(DeadlineExceeded, match="not done within 2 s") as raised:
        run(slow, world, 12)
    world.expect(work, waited(1), work, waited(2), work)  # at 0, 3 and 7; the next would be at 13
    assert world.now == 9
    assert raised.value.__notes__[0].endswith(
        "a wait of 4 s would end after the deadline, 12 s in all"
    )
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


def late(world: Virtual[Any], answer: int) -> int:
    """What does not keep to its time, as a handler that cannot be ended."""
    world.now += 100
    return answer


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
    with pytest.raises(DeadlineExceeded, match="a wait of 1 s would end after the deadline"):
        program.or_else(work, on=Exception).run(world.interpreter, within=2.5)
    world.expect(work)


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


# An attempt that holds the end back.


@attempt
def holding(what: type[BaseException], then: BaseException | None = None) -> Do[Ask, int]:
    try:
        return (yield from Ask("work"))
    except what:
        if then is not None:
            raise then from None
        return -1


@pytest.mark.parametrize("what", [TimeoutError, Exception, BaseException])
@pytest.mark.parametrize("then", [None, NotReady(), KeyError()], ids=repr)
def test_no_attempt_holds_a_deadline_back(what: Any, then: Any) -> None:
    cases: dict[str, tuple[Any, float | None, float]] = {
        "within": (at(N3).retry(holding(what, then)), 5, 5),
        "limit": (at(N0).do(do(holding(what, then)).limit(5)), None, 5),
        "limit within": (at(N3).retry(do(holding(what, then)).limit(5)), 6, 5),
        "within limit": (at(N3).retry(do(holding(what, then)).limit(6)), 5, 5),
    }
    for program, within, end in cases.values():
        world = Virtual(Ask.handled_by(always(takes(60, 1))))
        with pytest.raises(DeadlineExceeded):
            program.run(world.interpreter, within=within)
        assert world.now == end
        world.expect(work)


def test_a_time_out_before_the_deadline_is_a_failure_like_any_other() -> None:
    world = Virtual(Ask.handled_by(answers(takes(1, TimeoutError()), 7)))
    assert at(N0).do(holding(TimeoutError)).run(world.interpreter, within=5) == -1
    world = Virtual(Ask.handled_by(answers(takes(1, TimeoutError()), 7)))
    assert at(N1).retry(work).run(world.interpreter, within=5) == 7


@pytest.mark.parametrize("limited", [False, True])
def test_what_cleaning_up_fails_with_does_not_hold_the_end_back(limited: bool) -> None:
    world = Virtual(Ask.handled_by(answers(takes(60, 1), ServerError(503))))
    effect: Any = do(guarded()).limit(5) if limited else guarded()
    program = at(N0).retry(effect, on=Exception)
    with pytest.raises(DeadlineExceeded) as raised:
        program.run(world.interpreter, within=10 if limited else 5)
    assert isinstance(raised.value.__cause__, TimeoutError)
    assert raised.value.__notes__ == ["ixbackoff: attempts made: 1, waits: 0, 0 s in all"]
    world.expect(work, clean_up)


def test_after_a_failed_cleaning_up_at_the_deadline_nothing_is_tried_again() -> None:
    world = Virtual(Ask.handled_by(answers(takes(60, 1), ServerError(503))))
    with pytest.raises(DeadlineExceeded):
        at(N3).retry(guarded(), on=Exception).run(world.interpreter, within=5)
    world.expect(work, clean_up)


def test_a_misuse_is_told_also_after_the_deadline() -> None:
    world = Virtual(Ask.handled_by(answers(takes(60, 1))))

    def misused(command: Log) -> None:
        world.now += 10
        raise Misuse("as it should not be")

    with pytest.raises(Misuse, match="as it should not be"):
        at(N3).retry(do(Log("a")).limit(5), on=Exception).run(
            Log.handled_by(misused) | world.interpreter | Log.handled_by(misused)
        )


# Stopping.


@pytest.mark.parametrize("limited", [False, True])
def test_an_interrupt_after_the_deadline_is_an_interrupt(limited: bool) -> None:
    def interrupted(command: Ask) -> int:
        if command == clean_up:
            return 0
        world.now += 60
        raise KeyboardInterrupt

    world = Virtual(Ask.handled_by(interrupted))
    effect: Any = do(guarded()).limit(1) if limited else guarded()
    with pytest.raises(KeyboardInterrupt):
        at(N3).retry(effect, on=Exception).run(world.interpreter, within=5)
    world.expect(work, clean_up)


def test_an_interrupt_while_cleaning_up_is_an_interrupt() -> None:
    world = Virtual(Ask.handled_by(answers(takes(60, 1), Stop())))
    with pytest.raises(Stop):
        at(N3).retry(do(guarded()).limit(5), on=Exception).run(world.interpreter)
    world.expect(work, clean_up)


def test_a_limit_does_not_end_what_cleans_up_after_the_deadline_around_it() -> None:
    @attempt
    def cleaning() -> Do[Ask, int]:
        try:
            return (yield from Ask("work"))
        finally:
            yield from Ask("clean up")
            yield from Ask("clean up")

    world = Virtual(Ask.handled_by(answers(takes(60, 1), takes(60, 0), takes(60, 0))))
    with pytest.raises(DeadlineExceeded, match="not done within 5 s"):
        at(N3).retry(do(cleaning()).limit(7), on=Exception).run(world.interpreter, within=5)
    world.expect(work, clean_up, clean_up)


def test_what_the_test_did_not_script_is_told_within_a_deadline() -> None:
    world = Virtual(Ask.handled_by(answers()))
    with pytest.raises(Unscripted):
        at(N3).retry(do(work).limit(2), on=Exception).run(world.interpreter, within=5)


@pytest.mark.parametrize("started", [False, True])
def test_a_stream_with_a_deadline_can_be_closed(started: bool) -> None:
    stream = unroll(at(N3).retry(do(guarded()).limit(3)), within=5)
    if started:
        command = next(stream)
        while isinstance(command, Now):
            command = stream.send(0.0)
        assert command == work
        assert time_limit() == 3
    stream.close()
    assert time_limit() is None


def test_a_stream_that_is_closed_elsewhere_leaves_the_limit_there() -> None:
    stream = unroll(at(N0).do(work), within=5)
    next(stream)
    stream.send(0.0)
    stream.send(0.0)

    def answer(command: Ask) -> float | None:
        stream.close()
        return time_limit()

    world = Virtual(Ask.handled_by(answer))  # type: ignore[arg-type]
    assert at(N0).do(work).run(world.interpreter, within=3) == 3
    assert time_limit() is None


# Laws.


class Seen(NamedTuple):
    """What can be seen of a run: what was performed, and when, and what it came to."""

    trace: list[tuple[float, str]]
    value: Any
    failure: Any
    now: float


def timed(script: Any) -> Any:
    """A world in which each answer takes its time, and cleaning up none."""
    rounds = [0]

    def answer(command: Ask) -> Any:
        seconds, outcome = script[rounds[0] % len(script)]
        rounds[0] += 1
        if isinstance(outcome, Exception):
            outcome = type(outcome)(*outcome.args)  # a fresh one: notes are added to it
        return takes(0 if command.name == "finally" else seconds, outcome)

    return Virtual(Ask.handled_by(answer))


def seen(program: Any, script: Any, **arguments: Any) -> Seen:
    world = timed(script)
    value = failure = None
    try:
        value = program.run(world.interpreter, **arguments)
    except Exception as error:
        failure = (type(error), str(error), getattr(error, "__notes__", []))
    return Seen([(one.at, repr(one.command)) for one in world.trace], value, failure, world.now)


durations = st.sampled_from([0.0, 0.25, 1.0, 3.0]) | st.floats(0, 10)
scripts = st.lists(
    st.tuples(durations, st.integers(0, 5) | transient | lasting), min_size=1, max_size=8
)
limits = st.sampled_from([0.5, 1.0, 4.0, 12.0]) | st.floats(0.001, 50)


@given(programs(), scripts, schedules, limits)
def test_after_the_deadline_only_cleaning_up_is_carried_out(
    program: Any, script: Any, schedule: Any, within: float
) -> None:
    run = seen(program, script, schedule=schedule, within=within)
    late = [command for at, command in run.trace if at >= within]
    assert set(late) <= {repr(Ask("finally"))}
    assert run.now <= within * (1 + 1e-15)


@given(programs(), scripts, schedules)
def test_a_deadline_that_is_never_reached_changes_nothing(
    program: Any, script: Any, schedule: Any
) -> None:
    without = seen(program, script, schedule=schedule)
    assert seen(program, script, schedule=schedule, within=1e12) == without


@given(effects, scripts)
def test_a_limit_that_is_never_reached_changes_nothing(effect: Any, script: Any) -> None:
    for tried in ("retry", "resume"):
        assert seen(getattr(at(N3), tried)(do(effect).limit(1e12)), script) == seen(
            getattr(at(N3), tried)(effect), script
        )


@given(effects, scripts, limits, limits)
def test_a_limit_in_a_limit_is_the_earlier_one(
    effect: Any, script: Any, one: float, other: float
) -> None:
    earlier = seen(at(N3).retry(do(effect).limit(min(one, other))), script)
    assert seen(at(N3).retry(do(effect).limit(one).limit(other)), script) == earlier
    assert seen(at(N3).retry(do(effect).limit(one).limit(other).limit(one)), script) == earlier


@given(effects, scripts, limits, limits)
def test_a_limit_within_a_deadline_is_the_earlier_one_if_there_is_one_try(
    effect: Any, script: Any, one: float, other: float
) -> None:
    earlier = seen(at(N0).do(effect), script, within=min(one, other))
    assert seen(at(N0).do(do(effect).limit(one)), script, within=other) == earlier


@given(effects, scripts, limits)
def test_a_limit_of_a_program_without_waits_is_its_deadline(
    effect: Any, script: Any, seconds: float
) -> None:
    limited = at(N0).do(do(effect).limit(seconds))
    assert seen(limited, script) == seen(at(N0).do(effect), script, within=seconds)


@given(programs(), scripts, schedules, limits)
def test_a_deadline_only_cuts_short(
    program: Any, script: Any, schedule: Any, within: float
) -> None:
    whole = seen(program, script, schedule=schedule).trace
    cut = seen(program, script, schedule=schedule, within=within).trace
    same = [one for one in cut if one[0] < within and "finally" not in one[1]]
    assert same == [one for one in whole if "finally" not in one[1]][: len(same)]


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


# Budgets.


def test_a_wait_that_is_not_begun_costs_no_budget() -> None:
    budget = Budget(5, cost=2)
    world = Virtual(Ask.handled_by(always(NotReady())))
    with pytest.raises(NotReady) as raised:
        at(N3).retry(work).run(world.interpreter, within=2, budget=budget)
    assert budget.left == 3  # one wait was begun
    assert "would end after the deadline" in raised.value.__notes__[0]


def test_an_empty_budget_ends_a_program_before_its_deadline() -> None:
    world = Virtual(Ask.handled_by(always(NotReady())))
    with pytest.raises(NotReady) as raised:
        at(N3).retry(work).run(world.interpreter, within=100, budget=Budget(1, cost=1))
    assert "the retry budget is empty" in raised.value.__notes__[0]
    world.expect(work, waited(1), work)


def test_a_budget_that_needs_the_time_is_told_it() -> None:
    world = Virtual(Ask.handled_by(answers(NotReady(), takes(60, 1))))
    with pytest.raises(DeadlineExceeded):
        at(N3).retry(work).run(world.interpreter, within=5, budget=Budget.finagle())
    assert world.now == 5


# Programs in handlers.


def test_a_program_in_a_handler_has_the_time_of_what_is_around_it() -> None:
    inner = Virtual(Ask.handled_by(always(takes(3, 1))))
    program = at(N0).do(two_of_them())

    def late_too(command: Call[Any]) -> Any:
        """It takes as long around as inside."""
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


# Real time.

PATIENT = 60.0
SOON = 0.05


class Library(NamedTuple):
    """A way to await."""

    run: Callable[[Callable[[], Awaitable[Any]]], Any]
    sleep: Callable[[float], Awaitable[None]]


def in_asyncio(function: Any) -> Any:
    return asyncio.run(function())


LIBRARIES = {
    "asyncio": Library(in_asyncio, asyncio.sleep),
    "trio": Library(trio.run, trio.sleep),
}
each_library = pytest.mark.parametrize("library", LIBRARIES.values(), ids=LIBRARIES)
clock = Now.handled_by(lambda command: time.monotonic())


def hanging(library: Library, done: list[str]) -> Any:
    """Work hangs; cleaning up is done soon."""

    async def answer(command: Ask) -> int:
        try:
            await library.sleep(0.001 if command == clean_up else PATIENT)
            done.append(command.name)
        finally:
            done.append(f"{command.name} let go")
        return 0

    return (
        clock | Ask.awaited_by(answer) | Delay.awaited_by(lambda wait: library.sleep(wait.seconds))
    )


DONE = ["work let go", "clean up", "clean up let go"]


@each_library
@pytest.mark.parametrize("limited", [False, True])
def test_what_is_awaited_is_cancelled_at_the_deadline(library: Library, limited: bool) -> None:
    done: list[str] = []
    began = time.monotonic()
    effect: Any = do(guarded()).limit(SOON) if limited else guarded()
    within = None if limited else SOON
    with pytest.raises(DeadlineExceeded, match=r"not done within 0.05 s \(Ask was running\)"):
        library.run(lambda: at(N0).do(effect).run_async(hanging(library, done), within=within))
    assert SOON <= time.monotonic() - began < PATIENT / 2
    assert done == DONE


@each_library
def test_an_attempt_that_was_cancelled_at_its_limit_is_tried_again(library: Library) -> None:
    asked: list[str] = []

    async def answer(command: Ask) -> int:
        asked.append(command.name)
        await library.sleep(PATIENT if len(asked) == 1 else 0)
        return 7

    interpreter = clock | Ask.awaited_by(answer) | Delay.awaited_by(lambda _: library.sleep(0))
    program = at(N1).retry(do(work).limit(SOON))
    assert library.run(lambda: program.run_async(interpreter)) == 7
    assert asked == ["work", "work"]


@each_library
def test_a_real_wait_that_ends_too_late_is_not_begun(library: Library) -> None:
    async def answer(command: Ask) -> int:
        await library.sleep(0)
        raise NotReady

    interpreter = (
        clock | Ask.awaited_by(answer) | Delay.awaited_by(lambda w: library.sleep(w.seconds))
    )
    began = time.monotonic()
    with pytest.raises(NotReady):
        library.run(
            lambda: (
                at(N1).retry(work).run_async(interpreter, within=0.3, schedule=Constant(PATIENT))
            )
        )
    assert time.monotonic() - began < PATIENT / 2


@pytest.mark.parametrize("seconds", [SOON, PATIENT])
def test_in_asyncio_a_time_out_around_it_is_its_own(seconds: float) -> None:
    done: list[str] = []

    async def main() -> None:
        program = at(N3).retry(do(guarded()).limit(PATIENT), on=Exception)
        async with asyncio.timeout(0.01):
            await program.run_async(hanging(LIBRARIES["asyncio"], done), within=seconds)

    with pytest.raises(TimeoutError) as raised:
        asyncio.run(main())
    assert not isinstance(raised.value, DeadlineExceeded)
    assert done == DONE


def test_in_asyncio_a_cancelled_task_is_cancelled() -> None:
    done: list[str] = []

    async def main() -> None:
        program = at(N3).retry(do(guarded()).limit(SOON), on=Exception)
        task = asyncio.ensure_future(
            program.run_async(hanging(LIBRARIES["asyncio"], done), within=SOON)
        )
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()

    asyncio.run(main())
    assert done == DONE


def test_in_asyncio_a_task_that_is_cancelled_at_its_deadline_is_cancelled() -> None:
    async def main() -> None:
        task: asyncio.Future[Any]

        async def answer(command: Ask) -> int:
            if command == work:
                asyncio.get_running_loop().call_later(SOON, task.cancel)
            await asyncio.sleep(PATIENT if command == work else 0)
            return 0

        interpreter = clock | Ask.awaited_by(answer)
        task = asyncio.ensure_future(at(N0).do(guarded()).run_async(interpreter, within=SOON))
        with pytest.raises((asyncio.CancelledError, DeadlineExceeded)):
            await task
        assert task.cancelling() == 1

    asyncio.run(main())


def test_in_trio_a_scope_around_it_is_its_own() -> None:
    done: list[str] = []

    async def main() -> None:
        program = at(N3).retry(do(guarded()).limit(SOON), on=Exception)
        with trio.move_on_after(0.01) as scope:
            await program.run_async(hanging(LIBRARIES["trio"], done), within=SOON)
        assert scope.cancelled_caught

    trio.run(main)
    assert done == DONE


@each_library
def test_programs_at_once_have_deadlines_of_their_own(library: Library) -> None:
    told: dict[float, list[float | None]] = {0.1: [], 0.2: [], 0.3: []}

    async def one(within: float) -> None:
        async def answer(command: Ask) -> int:
            await library.sleep(0.001)
            told[within].append(time_limit())
            return 0

        program = at(N0).do(two_of_them())
        await program.run_async(clock | Ask.awaited_by(answer), within=within)

    async def main() -> None:
        if library is LIBRARIES["trio"]:
            async with trio.open_nursery() as nursery:
                for within in told:
                    nursery.start_soon(one, within)
        else:
            await asyncio.gather(*(one(within) for within in told))

    library.run(main)
    for within, limits in told.items():
        first, second = limits
        assert within - 0.1 < (second or 0) < (first or 0) <= within


def test_without_an_event_loop_handlers_are_told_and_nobody_is_cancelled() -> None:
    told: list[float | None] = []

    async def answer(command: Ask) -> int:
        told.append(time_limit())
        return 7

    coroutine = at(N0).do(work).run_async(clock | Ask.awaited_by(answer), within=5)
    with pytest.raises(StopIteration) as end:
        coroutine.send(None)
    assert end.value.value == 7
    assert told[0] == pytest.approx(5, abs=1)


# What is left behind.


@attempt
def catching() -> Do[Ask, int]:
    try:
        yield from Ask("work")
    except ServerError:
        yield from Ask("work")
    finally:
        yield from Ask("clean up")
    return 0


class Late(TimeoutError):
    """What a handler gives up with; unlike its base it can be referred to weakly."""


class Busy(ServerError):
    """Needs no status."""

    def __init__(self) -> None:
        super().__init__(503)


class Broken(Exception):
    """Not worth another try."""


Script: TypeAlias = list[tuple[float, int | type[BaseException]]]


def with_a_clock(script: Script) -> Interpreter[Ask | Now | Delay]:
    """Answers that take their time, and leave nothing behind themselves."""
    now = [0.0]
    left = list(reversed(script))

    def answer(command: Ask) -> int:
        seconds, outcome = left.pop()
        limit = time_limit()
        if limit is not None and seconds >= limit:
            now[0] += limit
            raise Late
        now[0] += seconds
        if isinstance(outcome, int):
            return outcome
        raise outcome

    def wait(command: Delay) -> None:
        now[0] += command.seconds

    return Ask.handled_by(answer) | Now.handled_by(lambda command: now[0]) | Delay.handled_by(wait)


MEMORY: dict[str, tuple[Any, float | None, Any]] = {
    "well": (at(N2).retry(guarded()), 5, [(1, NotReady), (0, 0), (0, 1), (0, 0)]),
    "ended": (at(N2).retry(guarded()), 5, [(60, 1), (0, 0)]),
    "ended in a retry": (at(N2).retry(catching()), 5, [(0, Busy), (60, 1), (0, 0)]),
    "ended by a failure": (at(N2).retry(guarded()), 5, [(60, 1), (0, Broken)]),
    "a wait that is not begun": (at(N2).retry(guarded()), 5, [(4, NotReady), (0, 0)]),
    "a wait of one that is well": (at(N1).do(work).wait(), 5, [(4.5, 1)]),
    "a late answer": (at(N0).do(two_of_them()), 5, [(4, 1), (60, 1)]),
    "limits": (at(N1).retry(do(guarded()).limit(2)), 9, 2 * [(60, 1), (0, 0)]),
    "limits, resumed": (at(N1).resume(do(guarded()).limit(2)), 9, 2 * [(60, 1), (0, 0)]),
    "limits in limits": (
        at(N1).retry(do(guarded()).limit(2).limit(2)),
        None,
        2 * [(9, 1), (0, 0)],
    ),
    "an interrupt": (at(N1).retry(do(guarded()).limit(2)), 9, [(1, Stop), (0, 0)]),
    "held back": (at(N1).retry(holding(BaseException)), 5, [(60, 1)]),
}


@pytest.mark.parametrize(("program", "within", "script"), MEMORY.values(), ids=MEMORY)
def test_a_run_with_a_deadline_leaves_nothing_for_the_collector(
    program: Any, within: float | None, script: Any
) -> None:
    kept: list[weakref.ref[BaseException]] = []
    interpreter = with_a_clock(script)
    gc.collect()
    gc.disable()
    try:
        try:
            program.run(interpreter, within=within)
        except BaseException as error:
            links: list[Any] = [error, error.__cause__, error.__context__]
            kept += [weakref.ref(link) for link in links if hasattr(link, "__weakref__")]
            links.clear()
        assert gc.collect() == 0
        assert [failure() for failure in kept] == [None] * len(kept)
    finally:
        gc.enable()


@each_library
def test_an_ended_run_keeps_no_failure_alive(library: Library) -> None:
    kept: list[weakref.ref[BaseException]] = []
    interpreter = hanging(library, [])

    async def main() -> None:
        try:
            await at(N0).do(do(guarded()).limit(0.01)).run_async(interpreter, within=PATIENT)
        except DeadlineExceeded as error:
            kept.append(weakref.ref(error))
        gc.disable()

    try:
        library.run(main)
        assert [one() for one in kept] == [None]
    finally:
        gc.enable()


# Bad input.

never_a_limit: Any = None
NO_SECONDS = [0, -1, -0.5, float("nan"), float("inf"), "5", [], 10**400]


def never(command: Ask) -> int:
    pytest.fail(f"{command} was issued")


@pytest.mark.parametrize("seconds", NO_SECONDS)
def test_what_is_no_time_is_refused_before_anything_is_done(seconds: Any) -> None:
    world = Virtual(Ask.handled_by(never))
    program = at(N1).retry(work)
    message = "give a finite number of seconds, above 0"
    with pytest.raises(ValueError, match=f"within=.*{message}"):
        program.run(world.interpreter, within=seconds)
    with pytest.raises(ValueError, match=f"within=.*{message}"):
        asyncio.run(program.run_async(world.interpreter, within=seconds))
    with pytest.raises(ValueError, match=f"within=.*{message}"):
        unroll(program, within=seconds)
    for limit in (seconds, never_a_limit):
        with pytest.raises(ValueError, match=f"limit=.*{message}"):
            do(work).limit(limit)


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


def test_a_retry_after_that_is_too_long_ends_the_program_at_once() -> None:
    world = Virtual(Ask.handled_by(answers(Throttled(3600))))
    with suppress(Throttled):
        at(N3).retry(work).run(world.interpreter, within=60)
    assert world.now == 0


@pytest.mark.parametrize("then", [None, NotReady()])
def test_after_the_deadline_no_step_goes_on_whatever_the_attempt_caught(then: Any) -> None:
    world = Virtual(Ask.handled_by(answers(takes(60, 1), 2)))
    program = at(N0).do(holding(BaseException, then)).or_else(Ask("instead")).do(Ask("next"))
    with pytest.raises(DeadlineExceeded):
        program.run(world.interpreter, within=5)
    world.expect(work)


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


def test_the_clock_of_a_deadline_is_that_of_the_sleep() -> None:
    """A test of trio's own goes by a clock that jumps: no real second passes."""

    async def hangs() -> None:
        await trio.sleep_forever()

    async def main() -> float:
        with pytest.raises(DeadlineExceeded):
            await backoff(N3, within=1000).call(hangs)
        return trio.current_time()

    began = trio.testing.MockClock(autojump_threshold=0)
    seconds = trio.run(main, clock=began)
    assert seconds == pytest.approx(1000)
