"""Alternatives, effects at the same time, polling, and another effect for each rung."""

from __future__ import annotations

import asyncio
import gc
import random
import signal
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Generator
from contextvars import ContextVar
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import (
    N0,
    N1,
    N2,
    N3,
    Call,
    DeadlineExceeded,
    Delay,
    Do,
    First,
    Interpreter,
    Log,
    Misuse,
    NotReady,
    Pick,
    ServerError,
    all_of,
    at,
    attempt,
    call,
    call_async,
    do,
    first_of,
    plan,
    time_limit,
)
from ixbackoff.live import live, live_async
from ixbackoff.polling import OperationFailed, succeeded
from ixbackoff.testing import Virtual, VirtualAsync, always, answers, by_command, takes, waited

from ..support.observing import Ask
from ..waits.test_deadlines import (
    LIBRARIES,
    PATIENT,
    SOON,
    Broken,
    Library,
    Stop,
    clock,
    each_library,
    holding,
)

a, b, c = Ask("a"), Ask("b"), Ask("c")
clean_up = Ask("clean up")


@attempt
def guarded(effect: Any) -> Do[Ask, int]:
    try:
        answer: int = yield from effect
    finally:
        yield from clean_up
    return answer


# The first of some.


@pytest.mark.parametrize("start", [0, 1, 2])
@pytest.mark.parametrize("well", [0, 1, 2])
def test_the_first_that_is_well_wins_from_the_start_on_and_round(start: int, well: int) -> None:
    scripts: Any = {
        ask: answers(7) if place == well else always(NotReady())
        for place, ask in enumerate((a, b, c))
    }
    world = Virtual(Ask.handled_by(by_command(scripts)))
    won = at(N0).do(first_of([a, b, c], start=start)).run(world.interpreter)
    assert won == First(well, 7) == First(place=well, answer=7)
    in_turn = [a, b, c, a, b]
    world.expect(*in_turn[start : in_turn.index((a, b, c)[well], start) + 1])


@pytest.mark.parametrize("start", [0, 1, 2])
def test_when_all_fail_the_failure_is_that_of_the_last(start: int) -> None:
    failures = [ServerError(500), ServerError(501), ServerError(502)]
    scripts: Any = {ask: answers(failure) for ask, failure in zip((a, b, c), failures, strict=True)}
    world = Virtual(Ask.handled_by(by_command(scripts)))
    with world, pytest.raises(ServerError) as raised:
        at(N0).do(first_of([a, b, c], start=start)).run(world.interpreter)
    assert raised.value is failures[start - 1]
    assert raised.value.__context__ is None


def test_one_effect_is_its_own_alternative() -> None:
    world = Virtual(Ask.handled_by(answers(7)))
    assert at(N0).do(first_of([a])).run(world.interpreter) == First(0, 7)
    world = Virtual(Ask.handled_by(answers(KeyError("k"))))
    with pytest.raises(KeyError):
        at(N0).do(first_of([a])).run(world.interpreter)


def test_only_after_a_failure_that_is_on_the_next_one_is_asked() -> None:
    def run(on: Any) -> Any:
        world = Virtual(Ask.handled_by(answers(KeyError("k"), 7)))
        return at(N0).do(first_of([a, b], start=0, on=on)).run(world.interpreter)

    for on in (KeyError, (KeyError, ValueError), lambda failure: "k" in str(failure)):
        assert run(on) == First(1, 7)
    with pytest.raises(KeyError):
        run(ValueError)


@pytest.mark.parametrize("stop", [Stop(), KeyboardInterrupt()])
def test_what_is_no_failure_is_not_held_back_by_an_alternative(stop: BaseException) -> None:
    world = Virtual(Ask.handled_by(answers(stop)))
    with pytest.raises(type(stop)):
        at(N3).retry(first_of([a, b], start=0, on=Exception)).run(world.interpreter)
    world.expect(a)


def test_no_alternative_recovers_from_a_misuse() -> None:
    program: Any = at(N0).do(first_of([Log("no handler"), a], start=0, on=Exception))
    with pytest.raises(Misuse, match="No handler for Log"):
        program.run(Ask.handled_by(lambda command: 7))


@pytest.mark.parametrize("picked", [0, 1, 2])
def test_the_interpreter_picks_the_start(picked: int) -> None:
    world = Virtual(Pick.handled_by(answers(picked)) | Ask.handled_by(answers(NotReady(), 7)))
    won = at(N0).do(first_of([a, b, c])).run(world.interpreter)
    assert won == First((picked + 1) % 3, 7)
    assert world.commands[0] == Pick(3)


def test_a_random_start_is_as_likely_as_any_other() -> None:
    effects = [call(str, place) for place in range(4)]
    program = at(N0).do(first_of(effects)).map(lambda won: won.place)
    interpreter = live()
    random.seed(20261121)
    won = Counter(program.run(interpreter) for _ in range(2000))
    # Each is won 500 times; the standard deviation is sqrt(2000 * 1/4 * 3/4) < 20.
    assert sorted(won) == [0, 1, 2, 3]
    assert all(abs(times - 500) < 5 * 20 for times in won.values())


def test_a_resumed_alternative_starts_where_it_started() -> None:
    world = Virtual(
        Pick.handled_by(answers(1)) | Ask.handled_by(answers(NotReady(), NotReady(), 7, 8))
    )
    program = at(N1).resume(do(first_of([a, b], on=NotReady)).then(lambda won: c))
    assert program.run(world.interpreter) == 8
    world.expect(Pick(2), b, a, waited(1), a, c)


def test_a_retried_alternative_picks_anew() -> None:
    world = Virtual(
        Pick.handled_by(answers(1, 0)) | Ask.handled_by(answers(NotReady(), NotReady(), 7))
    )
    assert at(N1).retry(first_of([a, b])).run(world.interpreter) == First(0, 7)
    world.expect(Pick(2), b, a, waited(1), Pick(2), a)


def test_alternatives_with_limits_leave_a_black_hole_behind() -> None:
    scripts = {a: always(takes(900, 0)), b: always(takes(10, 7))}
    world = Virtual(Ask.handled_by(by_command(scripts)))
    readers = [do(server).limit(60) for server in (a, b)]
    assert at(N0).do(first_of(readers)).run(world.interpreter, within=900) == First(1, 7)
    assert world.now == 70


def test_alternatives_may_be_given_by_an_iterator_and_used_again() -> None:
    program = at(N1).retry(first_of(iter([a, b]), start=0))
    for _ in range(2):
        world = Virtual(Ask.handled_by(answers(NotReady(), 7)))
        assert program.run(world.interpreter) == First(1, 7)


untyped_first_of: Any = first_of
untyped_all_of: Any = all_of


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: untyped_first_of([]), ValueError, "give one effect at least"),
        (lambda: untyped_first_of([a], start=1), ValueError, "give a place from 0 to 0"),
        (lambda: untyped_first_of([a], start=-1), ValueError, "give a place from 0 to 0"),
        (lambda: untyped_first_of([a, b], start=0.5), ValueError, "give a place from 0 to 1"),
        (lambda: untyped_first_of([a, b], start="0"), ValueError, "give a place from 0 to 1"),
        (lambda: untyped_first_of([a], on=3), TypeError, "on=3 chooses no failures"),
        (lambda: untyped_first_of([a, 5]), TypeError, "5 is no command and no attempt"),
        (lambda: untyped_first_of([at(N1).retry(a)]), TypeError, "its retries would multiply"),
        (lambda: untyped_all_of([a, 5]), TypeError, "5 is no command and no attempt"),
        (lambda: untyped_all_of([at(N1).retry(a)]), TypeError, "its retries would multiply"),
        (lambda: untyped_all_of([a, holding]), TypeError, "call it first"),
        (lambda: untyped_all_of(5), TypeError, "give a list"),
        (lambda: untyped_all_of(at(N1).retry(a)), TypeError, "its retries would multiply"),
        (lambda: untyped_all_of(a, at(N1).retry(a)), TypeError, "its retries would multiply"),
        (lambda: untyped_all_of(a, [a]), TypeError, "no command and no attempt"),
        (lambda: untyped_all_of(), TypeError, "or a list of them"),
    ],
)
def test_what_are_no_alternatives_is_refused(make: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        make()


# All of some, in virtual time.


def test_effects_at_once_take_the_time_of_the_longest() -> None:
    scripts = {a: answers(takes(3, 1)), b: answers(takes(1, 2)), c: answers(takes(2, 3))}
    world = Virtual(Ask.handled_by(by_command(scripts)))
    assert at(N0).do(all_of([a, b, c])).run(world.interpreter) == [1, 2, 3]
    world.expect(a, b, c)
    assert world.now == 3


def test_effects_at_once_are_interleaved_by_their_times() -> None:
    @attempt
    def twice(ask: Ask) -> Do[Ask, int]:
        yield from ask
        return (yield from ask)

    scripts = {a: always(takes(2, 1)), b: always(takes(3, 2))}
    world = Virtual(Ask.handled_by(by_command(scripts)))
    assert at(N0).do(all_of([twice(a), twice(b)])).run(world.interpreter) == [1, 2]
    assert [(one.at, one.command) for one in world.trace] == [(0, a), (0, b), (2, a), (3, b)]
    assert world.now == 6


def test_the_first_failure_ends_the_rest_and_is_that_of_all() -> None:
    scripts = {
        a: answers(takes(5, ServerError(500))),
        b: answers(takes(2, ServerError(501))),
        c: always(takes(1, 3)),
        clean_up: always(0),
    }
    world = Virtual(Ask.handled_by(by_command(scripts)))

    @attempt
    def long() -> Do[Ask, int]:
        for _ in range(10):
            yield from c
        return 0

    with pytest.raises(ServerError) as raised:
        at(N0).do(all_of([guarded(a), do(b), guarded(long())])).run(world.interpreter)
    assert raised.value.status == 501
    assert world.now == 2
    world.expect(a, b, c, c, clean_up, clean_up)


def test_effects_at_once_fail_as_one_and_are_tried_again() -> None:
    scripts = {a: answers(1, 2), b: answers(NotReady(), 3)}
    world = Virtual(Ask.handled_by(by_command(scripts)))
    assert at(N1).retry(all_of([a, b])).run(world.interpreter) == [2, 3]
    world.expect(a, b, waited(1), a, b)


def test_resumed_effects_at_once_are_performed_again_when_they_failed_and_not_otherwise() -> None:
    scripts = {a: answers(1, 2), b: answers(NotReady(), 3), c: answers(NotReady(), 4)}
    world = Virtual(Ask.handled_by(by_command(scripts)))
    program = at(N2).resume(
        do(all_of([a, b])).then(lambda numbers: do(c).map(lambda n: (numbers, n)))
    )
    assert program.run(world.interpreter) == ([2, 3], 4)
    world.expect(a, b, waited(1), a, b, c, waited(2), c)


def test_each_effect_has_what_is_left_of_the_time() -> None:
    told: dict[str, float | None] = {}

    def answer(command: Ask) -> int:
        told[command.name] = time_limit()
        return takes(1, 0)

    @attempt
    def two(first: Ask, second: Ask) -> Do[Ask, int]:
        yield from first
        return (yield from second)

    world = Virtual(Ask.handled_by(answer))
    at(N0).do(do(all_of([two(a, b), do(c).limit(2)])).limit(5)).run(world.interpreter)
    assert told == {"a": 5, "b": 4, "c": 2}


def test_effects_at_once_are_ended_at_a_limit_around_them() -> None:
    scripts = {a: always(takes(60, 1)), b: always(takes(1, 2)), clean_up: always(0)}
    world = Virtual(Ask.handled_by(by_command(scripts)))
    program = at(N1).retry(do(all_of([guarded(a), guarded(b)])).limit(5))
    with pytest.raises(DeadlineExceeded, match="not done within 5 s"):
        program.run(world.interpreter)
    assert world.now == 11
    assert world.commands == [a, b, clean_up, clean_up, waited(1), a, b, clean_up, clean_up]


def test_a_limit_of_one_effect_is_not_that_of_another() -> None:
    scripts = {a: always(takes(4, 1)), b: always(takes(5, 2)), c: always(takes(2, 3))}
    world = Virtual(Ask.handled_by(by_command(scripts)))
    program = at(N0).do(all_of([do(c).limit(3), do(a).limit(4.5), do(b).limit(60)]))
    assert program.run(world.interpreter) == [3, 1, 2]
    assert time_limit() is None


durations = st.floats(0, 100)


@given(st.lists(durations, max_size=6), st.floats(0.01, 200))
def test_effects_at_once_are_done_within_a_deadline_if_the_longest_is(
    seconds: list[float], within: float
) -> None:
    asks = [Ask(str(place)) for place in range(len(seconds))]
    scripts: dict[Ask, Any] = {
        ask: answers(takes(each, place))
        for place, (ask, each) in enumerate(zip(asks, seconds, strict=True))
    }
    world = Virtual(Ask.handled_by(by_command(scripts)))
    program = at(N0).do(all_of(asks))
    if max(seconds, default=0) < within:
        assert program.run(world.interpreter, within=within) == list(range(len(seconds)))
        assert world.now == max(seconds, default=0)
    else:
        with pytest.raises(DeadlineExceeded, match=r"not done within"):
            program.run(world.interpreter, within=within)
        assert world.now == pytest.approx(within, rel=1e-15)


@given(st.lists(st.lists(durations, max_size=4), max_size=4))
def test_effects_at_once_are_traced_in_the_order_of_their_times(
    branches: list[list[float]],
) -> None:
    @attempt
    def several(place: int, seconds: list[float]) -> Do[Ask, int]:
        for each in seconds:
            yield from Ask(f"{place} {each}")
        return place

    world = Virtual(Ask.handled_by(lambda command: takes(float(command.name.split()[1]), 0)))
    program = at(N0).do(all_of([several(*branch) for branch in enumerate(branches)]))
    assert program.run(world.interpreter) == list(range(len(branches)))
    times = [one.at for one in world.trace]
    assert times == sorted(times)
    assert world.now == max((sum(branch, 0.0) for branch in branches), default=0.0)


def test_no_effects_at_once_answer_nothing() -> None:
    program: Any = at(N0).do(all_of([]))
    assert program.run(Virtual(Ask.handled_by(answers())).interpreter) == []
    assert program.run(live()) == []
    assert asyncio.run(program.run_async(live_async())) == []

    async def main() -> Any:
        return await program.run_async(live_async())

    assert trio.run(main) == []


def test_effects_at_once_may_be_awaited_in_virtual_time() -> None:
    async def answer(command: Ask) -> int:
        await asyncio.sleep(0)
        return takes(ord(command.name) - ord("a") + 1, 0)

    world = VirtualAsync(Ask.awaited_by(answer))
    effects: list[Any] = [a, b, all_of([c, a])]
    program = at(N0).do(all_of(effects))
    assert asyncio.run(program.run_async(world.interpreter, within=5)) == [0, 0, [0, 0]]
    assert world.now == 3


def test_what_the_test_did_not_script_is_told_also_at_once() -> None:
    world = Virtual(Ask.handled_by(by_command({a: always(1)})))
    with pytest.raises(BaseException, match="not among the scripted"):
        at(N3).retry(all_of([a, b]), on=Exception).run(world.interpreter)


# All of some, in threads.


@pytest.fixture(autouse=True)
def no_thread_left() -> Generator[None]:
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


calls: type[Call[Any]] = Call
calling: Interpreter[Any] = calls.handled_by(lambda command: command())


def test_threads_run_at_the_same_time_and_answer_in_order() -> None:
    barrier = threading.Barrier(3, timeout=PATIENT)

    def meet(number: int) -> int:
        barrier.wait()
        return number

    program = at(N0).do(all_of([call(meet, number) for number in range(3)]))
    assert program.run(calling) == [0, 1, 2]


def test_threads_in_threads_run_at_the_same_time() -> None:
    barrier = threading.Barrier(4, timeout=PATIENT)
    pair: Any = all_of([call(barrier.wait), call(barrier.wait)])
    answered: Any = at(N0).do(all_of([pair, pair])).run(calling)
    assert sorted(place for both in answered for place in both) == [0, 1, 2, 3]


def answering(done: list[str], failing: threading.Event) -> Interpreter[Ask]:
    """`a` fails when `b` is under way, and `b` is done when `a` has failed."""
    under_way = threading.Event()

    def answer(command: Ask) -> int:
        done.append(command.name)
        if command == a:
            under_way.wait(PATIENT)
            raise NotReady
        if command == b:
            under_way.set()
            failing.wait(PATIENT)
        return 0

    return Ask.handled_by(answer)


def test_when_a_thread_fails_the_others_end_at_their_next_command() -> None:
    done: list[str] = []
    failing = threading.Event()

    @attempt
    def telling() -> Do[Ask, int]:
        try:
            return (yield from a)
        finally:
            threading.Timer(0.01, failing.set).start()

    @attempt
    def several() -> Do[Ask, int]:
        yield from b
        return (yield from c)

    program = at(N0).do(all_of([telling(), guarded(several())]))
    with pytest.raises(NotReady):
        program.run(answering(done, failing))
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.join()
    assert sorted(done[:2]) == ["a", "b"]
    assert done[2:] == ["clean up"]  # and not c


def test_threads_that_fail_are_tried_again_as_one() -> None:
    asked: list[str] = []

    def answer(command: Ask) -> int:
        asked.append(command.name)
        if asked.count("b") == 1 and command == b:
            raise NotReady
        return len(command.name)

    interpreter = Ask.handled_by(answer) | Delay.handled_by(lambda command: asked.append("wait"))
    assert at(N3).retry(all_of([a, b])).run(interpreter) == [1, 1]
    assert asked.count("wait") == 1


def test_threads_see_the_context_of_the_program() -> None:
    variable: ContextVar[str] = ContextVar("variable", default="nothing")
    variable.set("something")

    def change() -> str:
        seen = variable.get()
        variable.set("changed")
        return seen

    program = at(N0).do(all_of([call(change), call(change)]))
    assert program.run(calling) == ["something", "something"]
    assert variable.get() == "something"


def test_in_a_thread_what_waits_does_not_run_inside_another() -> None:
    inner = at(N1).retry(call(int))
    interpreter: Any = calling | Delay.handled_by(lambda command: None)
    nested = call(lambda: inner.run(interpreter))
    with pytest.raises(Misuse, match="retries would multiply"):
        at(N1).retry(all_of([nested, nested])).run(interpreter)
    assert at(N0).do(all_of([nested, nested])).run(interpreter) == [0, 0]


def test_threads_are_told_what_is_left_and_what_comes_too_late_is_ended() -> None:
    told: list[Any] = []

    def slow() -> None:
        told.append(time_limit())
        time.sleep(2 * SOON)

    both = all_of([do(call(slow)).then(lambda _: call(slow))] * 2)
    with pytest.raises(DeadlineExceeded, match=r"not done within 0\.05 s"):
        at(N0).do(do(both).limit(SOON)).run(calling | clock)
    assert len(told) == 2
    assert all(0 < seconds <= SOON for seconds in told)


@pytest.fixture
def interrupts() -> Generator[Callable[[], None]]:
    """Ctrl-C, also where it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    main = threading.main_thread().ident
    assert main is not None
    yield lambda: signal.pthread_kill(main, signal.SIGINT)
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_ends_all_threads_and_is_not_held_back(interrupts: Callable[[], None]) -> None:
    done: list[str] = []
    barrier = threading.Barrier(2, action=interrupts, timeout=PATIENT)

    def answer(command: Ask) -> int:
        if command == a:
            barrier.wait()
            time.sleep(SOON)  # the main thread is told meanwhile, and does not leave
        done.append(command.name)
        return 0

    @attempt
    def long() -> Do[Ask, int]:
        yield from a
        return (yield from c)

    program = at(N3).retry(all_of([guarded(long()), guarded(long())]), on=Exception)
    waits = Delay.handled_by(lambda command: done.append("wait"))
    with pytest.raises(KeyboardInterrupt):
        program.run(Ask.handled_by(answer) | waits)
    assert sorted(done) == ["a", "a", "clean up", "clean up"]


def test_a_stop_in_a_thread_is_not_held_back() -> None:
    def stop() -> None:
        raise Stop

    program = at(N3).retry(all_of(call(stop), call(int)), on=Exception)
    with pytest.raises(Stop):
        program.run(calling | Delay.handled_by(lambda command: None))


def test_a_program_in_a_thread_that_is_not_the_main_one() -> None:
    answered: list[Any] = []
    program = at(N0).do(all_of(call(int), call(str)))
    thread = threading.Thread(target=lambda: answered.append(program.run(calling)))
    thread.start()
    thread.join()
    assert answered == [(0, "")]


# All of some, in tasks.


def meeting(library: Library, number: int) -> Callable[[], Any]:
    """Answers when so many are there."""
    here = [0]

    async def meet() -> int:
        here[0] += 1
        place = here[0]
        while here[0] < number:
            await library.sleep(0)
        return place

    return meet


def run_in(library: Library, program: Any, interpreter: Any, **arguments: Any) -> Any:
    return library.run(lambda: program.run_async(interpreter, **arguments))


@each_library
def test_tasks_run_at_the_same_time_and_answer_in_order(library: Library) -> None:
    meet = meeting(library, 3)
    met: list[int] = run_in(library, at(N0).do(all_of([call_async(meet)] * 3)), live_async())
    assert sorted(met) == [1, 2, 3]

    async def after(seconds: float, number: int) -> int:
        await library.sleep(seconds)
        return number

    program = at(N0).do(all_of([call_async(after, 0.02, 1), call_async(after, 0.001, 2)]))
    assert run_in(library, program, live_async()) == [1, 2]


@each_library
def test_tasks_in_tasks_run_at_the_same_time(library: Library) -> None:
    meet = meeting(library, 4)
    pair: Any = all_of([call_async(meet)] * 2)
    met: Any = run_in(library, at(N0).do(all_of([pair, pair])), live_async())
    assert sorted(place for both in met for place in both) == [1, 2, 3, 4]


def hanging(library: Library, done: list[str]) -> Any:
    """`a` hangs, `b` fails soon, and the rest is done soon."""

    async def answer(command: Ask) -> int:
        try:
            await library.sleep(PATIENT if command == a else 0.005)
            if command == b:
                raise NotReady
            done.append(command.name)
        finally:
            done.append(f"{command.name} let go")
        return 0

    return clock | Ask.awaited_by(answer) | Delay.awaited_by(lambda wait: library.sleep(0))


@each_library
def test_when_a_task_fails_the_others_are_cancelled(library: Library) -> None:
    done: list[str] = []
    with pytest.raises(NotReady) as raised:
        run_in(library, at(N0).do(all_of([guarded(a), b])), hanging(library, done))
    assert done == ["b let go", "a let go", "clean up", "clean up let go"]
    assert raised.value.__notes__ == ["ixbackoff: attempts made: 1, waits: 0, 0 s in all"]


@each_library
def test_tasks_that_fail_are_tried_again_as_one(library: Library) -> None:
    done: list[str] = []
    with pytest.raises(NotReady):
        run_in(library, at(N2).retry(all_of([guarded(a), b])), hanging(library, done))
    assert done == 3 * ["b let go", "a let go", "clean up", "clean up let go"]


@each_library
def test_a_failure_in_a_task_keeps_its_cause(library: Library) -> None:
    async def fail() -> None:
        await library.sleep(0)
        raise NotReady from Broken()

    with pytest.raises(NotReady) as raised:
        run_in(library, at(N0).do(all_of([call_async(fail)])), live_async())
    assert isinstance(raised.value.__cause__, Broken)


@each_library
@pytest.mark.parametrize("limited", [False, True])
def test_tasks_are_cancelled_at_the_deadline(library: Library, limited: bool) -> None:
    done: list[str] = []
    both: Any = all_of([guarded(a), guarded(a)])
    program = at(N0).do(do(both).limit(SOON) if limited else both)
    within = None if limited else SOON
    with pytest.raises(DeadlineExceeded, match=r"not done within 0\.05 s"):
        run_in(library, program, hanging(library, done), within=within)
    assert Counter(done) == {"a let go": 2, "clean up": 2, "clean up let go": 2}


@each_library
def test_a_stop_in_a_task_is_not_held_back(library: Library) -> None:
    async def stop() -> None:
        await library.sleep(0)
        raise Stop

    async def fail() -> None:
        try:
            await library.sleep(PATIENT)
        finally:
            raise NotReady

    program = at(N3).retry(all_of([call_async(fail), call_async(stop)]), on=Exception)
    with pytest.raises(Stop):
        run_in(library, program, live_async())


def test_in_asyncio_a_cancellation_reaches_all_tasks() -> None:
    done: list[str] = []

    async def main() -> None:
        program = at(N3).retry(all_of([guarded(a), guarded(a)]), on=Exception)
        interpreter = hanging(LIBRARIES["asyncio"], done)
        task = asyncio.ensure_future(program.run_async(interpreter))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert Counter(done) == {"a let go": 2, "clean up": 2, "clean up let go": 2}


def test_in_trio_a_cancellation_reaches_all_tasks() -> None:
    done: list[str] = []

    async def main() -> None:
        program = at(N3).retry(all_of([guarded(a), guarded(a)]), on=Exception)
        with trio.move_on_after(0.01) as scope:
            await program.run_async(hanging(LIBRARIES["trio"], done))
        assert scope.cancelled_caught

    trio.run(main)
    assert Counter(done) == {"a let go": 2, "clean up": 2, "clean up let go": 2}


def test_in_asyncio_what_is_cancelled_by_itself_is_no_answer() -> None:
    async def cancelled() -> int:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(at(N0).do(all_of([call_async(cancelled)])).run_async(live_async()))


def test_tasks_need_an_event_loop() -> None:
    coroutine = at(N0).do(all_of([a])).run_async(Ask.handled_by(lambda command: 1))
    with pytest.raises(Misuse, match="needs asyncio or trio"):
        coroutine.send(None)


@pytest.mark.parametrize("started", [False, True])
def test_a_world_whose_effects_at_once_are_closed_is_left(started: bool) -> None:
    ended: list[str] = []

    @attempt
    def watched() -> Do[Ask, int]:
        try:
            return (yield from guarded(a))
        finally:
            ended.append("finally")

    async def main() -> None:
        never = asyncio.get_running_loop().create_future()

        async def answer(command: Ask) -> int:
            await never
            return 0

        world = VirtualAsync(Ask.awaited_by(answer))
        coroutine = at(N0).do(all_of([watched(), watched()])).run_async(world.interpreter)
        if started:
            coroutine.send(None)
        coroutine.close()

    asyncio.run(main())
    assert ended == (["finally"] if started else [])


# What is left behind.


class Failed(NotReady):
    """Can be referred to weakly."""


def fail() -> None:
    raise Failed


@pytest.mark.parametrize("retried", [False, True])
def test_threads_leave_nothing_for_the_collector(retried: bool) -> None:
    kept: list[weakref.ref[BaseException]] = []
    both = all_of([guarded(call(fail)), guarded(call(fail))])
    program: Any = at(N1).retry(both) if retried else at(N0).do(do(both).limit(PATIENT))
    interpreter: Any = calling | clock | Ask.handled_by(lambda command: 0)
    interpreter |= Delay.handled_by(lambda command: None)
    gc.collect()
    gc.disable()
    try:
        try:
            program.run(interpreter)
        except Failed as error:
            kept.append(weakref.ref(error))
        assert gc.collect() == 0
        assert [failure() for failure in kept] == [None]
    finally:
        gc.enable()


def test_a_world_keeps_no_failure_of_effects_at_once() -> None:
    kept: list[weakref.ref[BaseException]] = []
    world = Virtual(calling | Ask.handled_by(lambda command: 0))
    program = at(N1).retry(all_of([guarded(call(fail)), guarded(call(fail))]))
    gc.collect()
    gc.disable()
    try:
        try:
            program.run(world.interpreter)
        except Failed as error:
            kept.append(weakref.ref(error))
        world.trace.clear()
        assert gc.collect() == 0
        assert [failure() for failure in kept] == [None]
    finally:
        gc.enable()


@each_library
def test_tasks_keep_no_failure_alive(library: Library) -> None:
    kept: list[weakref.ref[BaseException]] = []

    async def failing() -> None:
        await library.sleep(0)
        raise Failed

    async def main() -> None:
        gc.collect()
        gc.disable()
        try:
            await at(N0).do(all_of([call_async(failing)])).run_async(live_async())
        except Failed as error:
            kept.append(weakref.ref(error))
        assert [failure() for failure in kept] == [None]

    try:
        library.run(main)
    finally:
        gc.enable()


# Polling.


def test_polling_asks_again_until_the_answer_is_what_is_expected() -> None:
    world = Virtual(Ask.handled_by(answers(1, 2, 3, 4)))
    program = at(N3).retry(do(a).expect(lambda answer: answer > 2))
    assert program.run(world.interpreter) == 3
    assert world.waits == [1, 2]


def test_polling_gives_up_with_what_was_answered_last() -> None:
    world = Virtual(Ask.handled_by(always(1)))
    with pytest.raises(NotReady, match="not what was expected: 1"):
        at(N2).retry(do(a).expect(lambda answer: answer > 2)).run(world.interpreter)
    assert world.waits == [1, 2]


def test_a_failure_is_not_looked_at_by_what_is_expected() -> None:
    world = Virtual(Ask.handled_by(answers(KeyError("k"))))
    with pytest.raises(KeyError):
        at(N3).retry(do(a).expect(lambda answer: False)).run(world.interpreter)


def test_what_is_expected_may_fail_itself() -> None:
    world = Virtual(Ask.handled_by(always(0)))
    with pytest.raises(ZeroDivisionError):
        at(N3).retry(do(a).expect(lambda answer: 1 / answer > 0)).run(world.interpreter)
    world.expect(a)


def test_what_is_expected_is_a_function() -> None:
    untyped: Any = do(a)
    with pytest.raises(TypeError, match="is no function"):
        untyped.expect(5)


def test_polling_resumes_at_what_is_asked_last() -> None:
    world = Virtual(Ask.handled_by(answers(7, 0, 0, 1)))
    submitted = do(Ask("submit")).then(lambda _: Ask("status")).expect(bool)
    assert at(N3).resume(submitted).run(world.interpreter) == 1
    submit, status = Ask("submit"), Ask("status")
    world.expect(submit, status, waited(1), status, waited(2), status)


@pytest.mark.parametrize("status", ["ACCESS_DENIED", "", "success"])
def test_polling_ends_when_the_operation_has_failed(status: str) -> None:
    world = Virtual(Call[Any].handled_by(answers("NOT_READY", "THROTTLED", "SERVER_ERROR", status)))
    program = at(N3).retry(do(call(str, "status")).map(succeeded))
    with pytest.raises(OperationFailed, match=f"ended with the status {status}"):
        program.run(world.interpreter)
    assert world.waits == [1, 2, 4]


# Another effect for each rung.


def test_each_rung_has_an_effect_of_its_own() -> None:
    world = Virtual(Ask.handled_by(always(NotReady())))
    with pytest.raises(NotReady):
        at(N3).vary(lambda rung: Ask(f"at {rung}")).run(world.interpreter)
    asks = [command for command in world.commands if isinstance(command, Ask)]
    assert asks == [Ask(f"at {rung}") for rung in (3, 2, 1, 0)]


def test_what_varies_ends_when_it_is_well_or_fails_with_something_else() -> None:
    program = at(N3).vary(lambda rung: do(Ask(f"at {rung}")).limit(10 - 2 * rung))
    world = Virtual(Ask.handled_by(answers(takes(5, 1), takes(5, 2), 3)))
    assert program.run(world.interpreter) == 2
    world.expect(Ask("at 3"), waited(1), Ask("at 2"))
    assert world.now == 4 + 1 + 5
    world = Virtual(Ask.handled_by(answers(NotReady(), KeyError("k"))))
    with pytest.raises(KeyError):
        program.run(world.interpreter)


def test_a_rung_is_that_where_the_run_stands_and_a_failed_one_is_passed_over() -> None:
    world = Virtual(Ask.handled_by(always(NotReady())))
    program = at(N3).skip().vary(lambda rung: Ask(f"at {rung}"))
    with pytest.raises(NotReady):
        program.run(world.interpreter)
    world.expect(Ask("at 2"), waited(2), Ask("at 1"), waited(4), Ask("at 0"))
    world = Virtual(Ask.handled_by(always(KeyError("k"))))
    with pytest.raises(KeyError):
        at(N3).do(a).vary(lambda rung: Ask(f"at {rung}")).run(world.interpreter)
    world.expect(a)


def test_what_varies_is_planned_as_a_retry_is() -> None:
    made: list[int] = []

    def varying(rung: int) -> Ask:
        made.append(rung)
        return a

    assert plan(at(N3).vary(varying)) == plan(at(N3).retry(a))
    assert made == []


def test_a_failure_of_the_function_is_one_of_the_try() -> None:
    def varying(rung: int) -> Ask:
        if rung == 2:
            raise NotReady
        return a

    world = Virtual(Ask.handled_by(answers(7)))
    assert at(N2).vary(varying).run(world.interpreter) == 7
    world.expect(waited(1), a)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (5, "is no function"),
        (lambda rung: 5, "5 is no command and no attempt"),
        (lambda rung: at(N1).retry(a), "its retries would multiply"),
    ],
)
def test_what_varies_is_a_function_to_effects(given: Any, message: str) -> None:
    program: Any = at(N3)
    world = Virtual(Ask.handled_by(answers()))
    with pytest.raises(Misuse, match=message):
        program.vary(given, on=Exception).run(world.interpreter)
    world.expect()


# Coroutine functions as commands.


def test_a_coroutine_function_is_awaited() -> None:
    async def double(number: int, *, more: int = 0) -> int:
        await asyncio.sleep(0)
        return 2 * number + more

    program = at(N1).retry(call_async(double, 4, more=1))
    assert asyncio.run(program.run_async(live_async())) == 9
    assert repr(call_async(double, 4, more=1)).endswith("double, 4, more=1)")
    assert call_async(double, 4) == call_async(double, 4)
    assert call_async(double, 4) != call_async(double, 5)


def test_a_coroutine_function_is_not_for_a_run_that_is_not_async() -> None:
    async def double(number: int) -> int:
        return 2 * number

    program: Any = at(N0).do(call_async(double, 4))
    with pytest.raises(Misuse, match="No handler for CallAsync"):
        program.run(live())


def test_a_coroutine_function_is_cancelled_at_a_limit() -> None:
    done: list[str] = []

    async def hang() -> None:
        try:
            await asyncio.sleep(PATIENT)
        finally:
            done.append("let go")

    program = at(N0).do(do(call_async(hang)).limit(SOON))
    with pytest.raises(DeadlineExceeded, match="CallAsync was running"):
        asyncio.run(program.run_async(live_async()))
    assert done == ["let go"]
