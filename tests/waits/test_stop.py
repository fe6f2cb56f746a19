"""`stop=`: an event ends the waits of a sync program, with its last failure."""

from __future__ import annotations

import asyncio
import gc
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Callable
from threading import Event, Thread, Timer
from typing import Any

import pytest
import trio

from ixbackoff import (
    N0,
    N1,
    N2,
    N3,
    Call,
    Delay,
    Misuse,
    NotReady,
    RetryBudget,
    Stopped,
    answered_by,
    at,
    backoff,
    call,
)
from ixbackoff._limits.stopping import STOPS
from ixbackoff.live import live
from ixbackoff.schedules import Constant
from ixbackoff.testing import Virtual, always, answers, no_waits

from ..support.ids import shown
from ..support.processes import Child
from ..support.ways.attempts import clean_up, guarded, work
from ..support.ways.functions import Script
from ..support.ways.programs import Ask

AN_HOUR = Constant(3600)
SOON = 0.1

Way = Callable[[Event, Callable[[], int]], int]


def run(stop: Event, function: Callable[[], int]) -> int:
    return at(N3).retry(call(function)).run(live(), schedule=AN_HOUR, stop=stop)


def run_live(stop: Event, function: Callable[[], int]) -> int:
    return at(N3).retry(call(function)).run(live(stop=stop), schedule=AN_HOUR)


def both(stop: Event, function: Callable[[], int]) -> int:
    program = at(N3).retry(call(function))
    return program.run(live(stop=Event()), schedule=AN_HOUR, stop=stop)


def decorated(stop: Event, function: Callable[[], int]) -> int:
    return backoff(N3, schedule=AN_HOUR, stop=stop)(function)()


def with_limits(stop: Event, function: Callable[[], int]) -> int:
    how: Any = {"within": 1e6, "budget": RetryBudget(100)}
    return backoff(N3, schedule=AN_HOUR, stop=stop, **how)(function)()


def in_a_block(stop: Event, function: Callable[[], int]) -> int:
    for one_try in backoff(N3, schedule=AN_HOUR, stop=stop):
        with one_try:
            return function()
    raise AssertionError("it neither returned nor raised")


def failing_and(stop: Event) -> Callable[[], NotReady]:
    """Make a failure, and set the event."""

    def failure() -> NotReady:
        stop.set()
        return NotReady()

    return failure


WAYS = [run, run_live, both, decorated, with_limits, in_a_block]
each_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
NOTES = [
    "ixbackoff: not tried again: stopped",
    "ixbackoff: tries: 1, waits: 0, 0 s in all",
]


@each_way
def test_a_wait_ends_at_once_with_the_last_failure_and_says_so(way: Way) -> None:
    stop = Event()
    script = Script([NotReady])
    begun = time.monotonic()
    Timer(SOON, stop.set).start()
    with pytest.raises(NotReady) as caught:
        way(stop, script.ask)
    assert time.monotonic() - begun < 10 * SOON
    assert caught.value is script.raised[-1]
    assert caught.value.__notes__ == NOTES
    assert STOPS.get() == ()


@each_way
def test_it_ends_in_a_thread_of_its_own_too(way: Way) -> None:
    stop = Event()
    failures: list[BaseException] = []

    def worker() -> None:
        try:
            way(stop, Script([NotReady]).ask)
        except NotReady as failure:
            failures.append(failure)

    threads = [Thread(target=worker) for _ in range(8)]
    for thread in threads:
        thread.start()
    time.sleep(SOON)
    stop.set()
    for thread in threads:
        thread.join(10 * SOON)
    assert [failure.__notes__ for failure in failures] == [NOTES] * 8


@each_way
def test_what_is_well_is_not_stopped(way: Way) -> None:
    stop = Event()

    def ask() -> int:
        stop.set()
        return 1

    assert way(stop, ask) == 1


@each_way
def test_no_wait_begins_after_it(way: Way) -> None:
    stop = Event()
    script = Script([failing_and(stop)])
    with no_waits() as waits, pytest.raises(NotReady) as caught:
        way(stop, script.ask)
    assert script.calls == 1
    assert waits.waited == []
    assert caught.value.__notes__ == NOTES


@pytest.mark.parametrize(
    "way", [way for way in WAYS if way is not run_live], ids=lambda way: way.__name__
)
def test_before_the_first_try_nothing_is_asked(way: Way) -> None:
    stop = Event()
    stop.set()
    script = Script([1])
    with pytest.raises(Stopped, match="stopped before anything was asked"):
        way(stop, script.ask)
    assert script.calls == 0
    assert STOPS.get() == ()


def test_the_stop_of_an_interpreter_ends_only_waits() -> None:
    stop = Event()
    stop.set()
    assert run_live(stop, Script([1]).ask) == 1


@pytest.mark.parametrize("lives", [False, True])
def test_a_wait_that_follows_no_failure_ends_with_one_of_its_own(lives: bool) -> None:
    stop = Event()
    program = at(N1).do(call(stop.set)).wait().do(call(pytest.fail))
    how: Any = {} if lives else {"stop": stop}
    with pytest.raises(Stopped, match="stopped in a wait") as caught:
        program.run(live(stop=stop) if lives else live(), **how)
    assert caught.value.__notes__ == ["ixbackoff: tries: 1, waits: 0, 0 s in all"]


def test_it_works_in_virtual_time() -> None:
    stop = Event()
    script = Script([NotReady, failing_and(stop)])
    world = Virtual(Ask.handled_by(lambda _: script.ask()))
    with pytest.raises(NotReady) as caught:
        at(N3).retry(work).run(world.interpreter, stop=stop)
    assert world.waits == [1]
    assert caught.value.__notes__[0] == NOTES[0]
    assert "tries: 2, waits: 1, 1 s in all" in caught.value.__notes__[1]


def test_a_handler_of_ones_own_is_not_cut_short_and_then_it_ends() -> None:
    stop = Event()
    waits: list[float] = []

    def wait(command: Delay) -> None:
        waits.append(command.seconds)
        stop.set()

    program = at(N3).retry(work)
    with pytest.raises(NotReady):
        program.run(Ask.handled_by(always(NotReady())) | Delay.handled_by(wait), stop=stop)
    assert waits == [1]


def test_no_step_recovers_and_cleaning_up_is_carried_out() -> None:
    stop = Event()

    def answer(command: Ask) -> int:
        asked.append(command)
        if command == work:
            stop.set()
            raise NotReady
        return 0

    for program in (
        at(N3).retry(guarded(), on=Exception).or_else(Ask("never"), on=Exception),
        at(N3).do(guarded()).backoff().or_else(Ask("never"), on=Exception).end(),
        at(N3).do(guarded()).backoff() | at(N2).retry(Ask("never")),
    ):
        stop.clear()
        asked: list[Ask] = []
        with pytest.raises(NotReady):
            program.run(Virtual(Ask.handled_by(answer)).interpreter, stop=stop)
        assert asked == [work, clean_up]


def test_two_events_end_one_wait() -> None:
    for first in (False, True):
        stops = Event(), Event()
        Timer(SOON / 2, stops[first].set).start()
        with pytest.raises(NotReady) as caught:
            at(N1).retry(call(Script([NotReady]).ask)).run(
                live(stop=stops[0]), schedule=AN_HOUR, stop=stops[1]
            )
        assert caught.value.__notes__ == NOTES


def test_a_wait_without_an_end_to_it_is_as_long_as_ever() -> None:
    begun = time.monotonic()
    with pytest.raises(NotReady):
        backoff(N2, schedule=Constant(SOON), stop=Event())(Script([NotReady]).ask)()
    assert time.monotonic() - begun >= 2 * SOON


def test_ctrl_c_in_a_wait_leaves_nothing_behind() -> None:
    def interrupted(_: Delay) -> None:
        raise KeyboardInterrupt

    handlers = Ask.handled_by(always(NotReady())) | Delay.handled_by(interrupted)
    with pytest.raises(KeyboardInterrupt):
        at(N1).retry(work).run(handlers, stop=Event())
    assert STOPS.get() == ()


def test_nothing_keeps_the_failure() -> None:
    stop = Event()

    def failing() -> int:
        stop.set()
        raise NotReady

    kept: list[weakref.ref[NotReady]] = []
    gc.disable()
    try:
        for way in WAYS:
            stop.clear()
            try:
                way(stop, failing)
            except NotReady as failure:
                kept.append(weakref.ref(failure))
        assert [one() for one in kept] == [None] * len(WAYS)
    finally:
        gc.enable()


# A process that is told to end.

PROCESS = """
import signal, sys, threading
from ixbackoff import N3, Constant, NotReady, at, backoff, call
from ixbackoff.live import live

stop = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: stop.set())
HOUR = Constant(3600)

def failing():
    print("failed", flush=True)
    raise NotReady("still copying")

def block():
    for one_try in backoff(N3, schedule=HOUR, stop=stop):
        with one_try:
            failing()

ways = {
    "run": lambda: at(N3).retry(call(failing)).run(live(), schedule=HOUR, stop=stop),
    "live": lambda: at(N3).retry(call(failing)).run(live(stop=stop), schedule=HOUR),
    "function": lambda: backoff(N3, schedule=HOUR, stop=stop)(failing)(),
    "block": block,
}
ways[sys.argv[1]]()
"""


@pytest.mark.parametrize("way", ["run", "live", "function", "block"])
def test_sigterm_ends_a_wait_of_an_hour_within_a_second(way: str) -> None:
    with Child(
        [sys.executable, "-c", PROCESS, way],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "failed\n"
        time.sleep(SOON)  # it begins to wait
        told = time.monotonic()
        process.send_signal(signal.SIGTERM)
        out, errors = process.communicate(timeout=30)
    assert time.monotonic() - told < 1
    assert out == ""
    assert errors.splitlines()[-3:] == ["ixbackoff.NotReady: still copying", *NOTES]


STORM = """
import random, signal, threading, time
from ixbackoff import N20, Constant, NotReady, Stopped, backoff

stops = [threading.Event()]
signal.signal(signal.SIGALRM, lambda *_: stops[-1].set())

def failing():
    raise NotReady

end = time.monotonic() + 2
while time.monotonic() < end:
    stops[:] = [threading.Event()]
    signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-6, 5e-4))
    try:
        backoff(N20, schedule=Constant(1e-5), stop=stops[-1])(failing)()
    except (NotReady, Stopped):
        pass
    while not stops[-1].is_set():
        pass
"""


@pytest.mark.slow
def test_a_handler_that_sets_the_event_never_hangs() -> None:
    subprocess.run([sys.executable, "-c", STORM], check=True, timeout=30)  # noqa: S603


# Bad input.

NOT_EVENTS = [True, 5, "stop", Event, lambda: False, asyncio.Event(), trio.Event()]


@pytest.mark.parametrize("stop", NOT_EVENTS, ids=shown)
def test_only_an_event_of_threading_is_one(stop: Any) -> None:
    world = Virtual(Ask.handled_by(answers()))
    for use in (
        lambda: at(N0).do(work).run(world.interpreter, stop=stop),
        lambda: live(stop=stop),
        lambda: backoff(N1, stop=stop),
    ):
        with pytest.raises(Misuse, match=r"stop=.*: give a threading\.Event, or cancel the task"):
            use()
    assert world.commands == []


def test_a_backoff_says_that_it_can_be_stopped() -> None:
    assert repr(backoff(N3)) == "backoff(N3)"
    assert "stop=<threading.Event at" in repr(backoff(N3, stop=Event()))


def test_what_answers_in_a_test_is_stopped_as_well() -> None:
    stop = Event()
    script = Script([failing_and(stop)])
    world = Virtual(Call[Any].handled_by(lambda command: command()))
    with answered_by(world.interpreter), pytest.raises(NotReady) as caught:
        decorated(stop, script.ask)
    assert caught.value.__notes__ == NOTES
