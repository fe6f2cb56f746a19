"""Effects at the same time, in threads."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Generator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

from ixbackoff import (
    N0,
    N1,
    N3,
    Call,
    DeadlineExceeded,
    Delay,
    Do,
    Interpreter,
    Misuse,
    NotReady,
    all_of,
    at,
    attempt,
    call,
    do,
    time_limit,
)

from ..support.ways.attempts import Failed, Stop, a, b, c, fail, guarded
from ..support.ways.libraries import PATIENT, SOON, clock
from ..support.ways.programs import Ask

ROOT = Path(__file__).parents[2]


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


@pytest.mark.parametrize("retried", [False, True])
def test_threads_leave_nothing_for_the_collector(retried: bool) -> None:
    """In a process of its own: here, other threads may leave something, such as those of xdist."""
    code = f"from {__name__} import leave_nothing; leave_nothing({retried})"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, timeout=60)  # noqa: S603


def leave_nothing(retried: bool) -> None:
    kept: list[weakref.ref[BaseException]] = []
    both = all_of([guarded(call(fail)), guarded(call(fail))])
    program: Any = at(N1).retry(both) if retried else at(N0).do(do(both).limit(PATIENT))
    interpreter: Any = calling | clock | Ask.handled_by(lambda command: 0)
    interpreter |= Delay.handled_by(lambda command: None)
    gc.collect()
    gc.disable()
    try:
        program.run(interpreter)
    except Failed as error:
        kept.append(weakref.ref(error))
    gc.set_debug(gc.DEBUG_SAVEALL)
    gc.collect()
    assert [*map(type, gc.garbage)] == []
    assert [failure() for failure in kept] == [None]
