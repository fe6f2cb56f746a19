"""Observers are told the same of programs, functions and blocks, and of each run to its end."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import warnings
from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import (
    N0,
    N1,
    N2,
    N3,
    Call,
    ClientError,
    Delay,
    Log,
    Misuse,
    NotReady,
    RetryBudget,
    Throttled,
    all_of,
    at,
    attempt,
    backoff,
    call,
    unroll,
)
from ixbackoff.live import live
from ixbackoff.observing import (
    Answered,
    Began,
    BreakerChanged,
    Ended,
    Event,
    Hedged,
    Issued,
    Observer,
    Run,
    WaitBegan,
    observe,
    observed,
)
from ixbackoff.testing import Virtual, answers

from ..support.ways.functions import WAYS, AnyBackoff, Outcome, Script, Way, program, seen, sleeps
from ..support.ways.observed_runs import Recorder, observe_all

EVERY_WAY = {"program": program, **WAYS}
FAILURES: list[Outcome] = [
    NotReady,
    lambda: Throttled(3),
    ConnectionError,
    lambda: ClientError(404),
    lambda: Misuse("a mistake"),
    lambda: KeyError("id"),
]
scripts = st.lists(st.sampled_from([*FAILURES, 1]), min_size=1, max_size=5)
every_way = pytest.mark.parametrize("way", EVERY_WAY.values(), ids=EVERY_WAY)


def said(event: Event) -> tuple[Any, ...]:
    """What an event says, without what differs from run to run and from way to way."""
    assert not isinstance(event, BreakerChanged | Hedged)
    run = (event.run.name, event.run.tries, event.run.wait_count, event.run.wait_seconds)
    failure = None if isinstance(event, Began | Issued) else repr(event.failure)
    match event:
        case Began():
            return ("Began", event.run.name, event.run.wait_count)
        case WaitBegan(_, seconds, rung):
            return ("WaitBegan", *run, seconds, rung, failure)
        case Ended(_, reason):
            return ("Ended", *run, reason, failure)
        case _:
            return (type(event).__name__, *run, failure)


def told(way: Way, made: AnyBackoff, script: list[Outcome]) -> list[tuple[Any, ...]]:
    events: list[tuple[Any, ...]] = []
    with observed(lambda event: events.append(said(event))):
        seen(way, made, script)
    return events


def failures_of(kind: type[Ended], found: list[str]) -> Callable[[Event], None]:
    """Return an observer: an event has its failure only while it is delivered."""
    return lambda event: found.append(repr(event.failure)) if isinstance(event, kind) else None


limits = st.sampled_from([{}, {"within": 2.5}, {"on": (KeyError, NotReady)}])


@every_way
@given(st.sampled_from([N0, N1, N3]), limits, scripts)
def test_every_form_tells_what_the_program_tells(
    way: Way, rung: Any, limits: dict[str, Any], script: list[Outcome]
) -> None:
    made = backoff(rung, name="fetch", **limits)
    assert told(way, made, script) == told(program, made, script)


@every_way
def test_an_empty_budget_is_told_where_it_is_decided(way: Way) -> None:
    empty = RetryBudget(1, returned=0)
    empty.open(0.0).afford(NotReady(), 0.0)
    events = told(way, backoff(N3, name="fetch", budget=empty), [NotReady])
    assert [event[0] for event in events] == ["Began", "Issued", "Answered", "Ended"]
    assert events[-1] == ("Ended", "fetch", 1, 0, 0.0, "budget empty", "NotReady()")


REASONS: list[tuple[list[Outcome], dict[str, Any], str]] = [
    ([1], {}, "well"),
    ([NotReady], {}, "gave up"),
    ([KeyError], {}, "not worth another try"),
    ([NotReady], {"within": 1}, "no time left"),
    ([NotReady, lambda: Misuse("a mistake")], {}, "misuse"),
]


@every_way
@pytest.mark.parametrize(("script", "limits", "reason"), REASONS, ids=[r for *_, r in REASONS])
def test_the_reason(way: Way, script: list[Outcome], limits: Any, reason: str) -> None:
    *_, last = told(way, backoff(N2, **limits), script)
    assert last[-2] == reason


def test_out_of_time_while_a_command_runs() -> None:
    from ixbackoff.testing import takes

    recorder = Recorder()
    world = Virtual(Call.handled_by(answers(takes(9, 1))))
    with observed(recorder), pytest.raises(TimeoutError):
        at(N2).retry(call(int)).run(world.interpreter, within=5)
    assert recorder.check() == {"no time left": 1}


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("where", ["program", "decorated", "in_a_block", "answered"])
def test_what_is_not_an_exception_cancels(where: str, stop: type[BaseException]) -> None:
    recorder = Recorder()
    ends: list[str] = []
    with observed(recorder), observed(failures_of(Ended, ends)), pytest.raises(stop):
        seen(EVERY_WAY[where], backoff(N2), [NotReady, stop])
    assert recorder.check() == {"cancelled": 1}
    assert ends == [repr(stop())]
    assert len(recorder.of(Issued)) == 2


@pytest.mark.parametrize("place", ["program_async", "decorated_async", "in_an_async_block"])
@pytest.mark.parametrize("waiting", [False, True])
def test_a_cancelled_task_is_cancelled(place: str, waiting: bool) -> None:
    from ..support.ways import functions

    async def main() -> None:
        async def slow() -> int:
            await asyncio.sleep(0 if waiting else 60)
            raise NotReady

        script: Any = Script([1])
        script.ask_async = slow
        task = asyncio.create_task(getattr(functions, place)(backoff(N2), script))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    recorder = Recorder()
    ends: list[str] = []
    with observed(recorder), observed(failures_of(Ended, ends)):
        asyncio.run(main())
    assert recorder.check() == {"cancelled": 1}
    assert ends == ["CancelledError()"]
    assert len(recorder.of(WaitBegan)) == waiting


def test_a_block_that_is_left_has_ended() -> None:
    recorder = Recorder()
    with observed(recorder):
        for one_try in backoff(N1):
            with one_try:
                break
        del one_try
    assert recorder.check() == {"well": 1}


def test_random_runs_have_each_ended_once() -> None:
    assert observe_all(1000, 7).total() >= 1000 - 8


def test_observers_see_what_the_trace_of_a_virtual_world_has() -> None:
    seen_commands: list[Any] = []

    def observer(event: Event) -> None:
        if isinstance(event, Issued):
            seen_commands.append(event.command)
        elif isinstance(event, WaitBegan):
            seen_commands.append((event.seconds, event.rung))

    @attempt
    def work() -> Any:
        yield from Log("begin")
        return (yield from call(int))

    world = Virtual(Call.handled_by(answers(NotReady(), ConnectionError(), 3)))
    with observed(observer):
        at(N3).retry(work()).run(world.interpreter)
    assert seen_commands == [
        (one.seconds, one.rung) if isinstance(one, Delay) else one for one in world.commands
    ]


@pytest.mark.parametrize("way", ["threads", "tasks", "virtual"])
def test_effects_at_the_same_time_are_parts_of_their_run(way: str) -> None:
    recorder = Recorder()
    work = at(N0).do(all_of(Log("a"), all_of(Log("b"), Log("c"))))
    with observed(recorder):
        if way == "threads":
            work.run(live())
        elif way == "tasks":
            asyncio.run(work.run_async(live()))
        else:
            work.run(Virtual(Log.handled_by(lambda _: None)).interpreter)
    assert recorder.check() == {"well": 1}
    kinds = sorted(type(event.command).__name__ for event in recorder.of(Issued))
    assert kinds == ["Log", "Log", "Log", "Together", "Together"]


def test_a_wait_that_is_refused_is_not_told() -> None:
    recorder = Recorder()
    world = Virtual(Call.handled_by(answers(NotReady(), NotReady())))
    with observed(recorder), pytest.raises(NotReady):
        at(N3).retry(call(int)).run(world.interpreter, within=2)
    assert [event.seconds for event in recorder.of(WaitBegan)] == world.waits == [1.0]


def test_what_is_not_run_is_not_told() -> None:
    recorder = Recorder()
    with observed(recorder):
        list(unroll(at(N1).do(Log("one")).wait()))
        at(N1).retry(Log("try"))
        with pytest.raises(Misuse):
            at(N1).retry(call(int)).run(Log.handled_by(print))  # type: ignore[arg-type]
    assert recorder.events == []


def test_a_function_that_was_decorated_before_is_observed() -> None:
    @backoff(N1)
    def early() -> int:
        return 1

    early()
    recorder = Recorder()
    with observed(recorder):
        early()
    early()
    assert [event.run.name for event in recorder.of(Began)] == ["early"]


@pytest.mark.parametrize("order", [*permutations(range(3))])
def test_blocks_of_observing_end_in_any_order(order: tuple[int, ...]) -> None:
    recorders = [Recorder() for _ in order]
    blocks = [observed(recorder) for recorder in recorders]
    for block in blocks:
        block.__enter__()
    for left, place in enumerate(order):
        backoff(N1).call(int)
        blocks[place].__exit__(None, None, None)
        recorders[place].check()
        assert len(recorders[place].of(Began)) == left + 1
    backoff(N1).call(int)
    assert sum(len(recorder.of(Began)) for recorder in recorders) == 1 + 2 + 3


def test_an_observer_that_is_added_twice_is_told_once() -> None:
    recorder = Recorder()
    with observed(recorder), observed(recorder, recorder):
        backoff(N1).call(int)
    assert recorder.check() == {"well": 1}


class Equal(Recorder):
    """An observer that equals all others."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


def test_observers_that_are_equal_are_not_the_same() -> None:
    recorders = Equal(), Equal()
    with observed(*recorders):
        backoff(N1).call(int)
    assert [recorder.check() for recorder in recorders] == [{"well": 1}] * 2


def test_a_method_is_the_same_each_time_that_it_is_looked_up() -> None:
    events: list[Event] = []
    with observed(events.append), observed(events.append):
        backoff(N1).call(int)
    assert len(events) == 4


@every_way
def test_nobody_is_told_of_what_an_observer_runs_itself(way: Way) -> None:
    def sends(_: Event) -> None:
        sent.append(backoff(N0).call(int))
        at(N0).do(call(int)).run(live())

    sent: list[int] = []
    recorder, other = Recorder(), Recorder()
    with observed(recorder, sends, other):
        assert seen(way, backoff(N2), [NotReady, 3]).value == 3
    assert recorder.check() == other.check() == {"well": 1}
    assert len(sent) == len(recorder.events)


def test_a_run_is_told_to_its_end_to_those_who_were_there_when_it_began() -> None:
    early, late = Recorder(), Recorder()
    block = observed(early)
    block.__enter__()
    after = observed(late)

    def swap() -> int:
        block.__exit__(None, None, None)
        after.__enter__()
        return 1

    backoff(N1).call(swap)
    at(N1).retry(call(int)).run(live())
    after.__exit__(None, None, None)
    assert early.check() == late.check() == {"well": 1}


def fails(event: Event) -> None:
    raise ZeroDivisionError(type(event).__name__)


@every_way
def test_an_observer_that_fails_warns_once_and_breaks_nothing(way: Way) -> None:
    recorder = Recorder()
    with observed(fails, recorder), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert seen(way, backoff(N2), [NotReady, 3]).value == 3
    assert len(caught) == 1
    assert str(caught[0].message).startswith("the observer <function fails at ")
    assert str(caught[0].message).endswith(
        "failed, but programs continue: ZeroDivisionError('Began')"
    )
    assert recorder.check() == {"well": 1}


def test_an_observer_that_cannot_even_be_shown_breaks_nothing() -> None:
    class Unspeakable(Recorder, Exception):
        def __repr__(self) -> str:
            raise ZeroDivisionError

        def __call__(self, event: Event, /) -> None:  # noqa: ARG002
            raise self

    with observed(Unspeakable()), pytest.warns(RuntimeWarning, match="Unspeakable object at"):
        assert backoff(N0).call(int) == 0


def test_it_breaks_nothing_where_warnings_are_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr(warnings, "showwarning", lambda *said: shown.append(said))
    with observed(fails):
        warnings.simplefilter("error")
        assert backoff(N2).call(int) == 0
    assert len(shown) == 1


KINDS: list[type[Any]] = [Began, Issued, Answered, WaitBegan, Ended]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("first", [False, True], ids=["second", "first"])
@pytest.mark.parametrize("where", ["program", "decorated", "in_a_block"])
def test_ctrl_c_in_an_observer_ends_the_run_and_all_are_told(
    where: str, kind: type[Any], first: bool
) -> None:
    struck: list[Event] = []

    def interrupted(event: Event) -> None:
        if isinstance(event, kind) and not struck:
            struck.append(event)
            raise KeyboardInterrupt

    recorder = Recorder()
    observers: list[Observer] = [interrupted, recorder] if first else [recorder, interrupted]
    with observed(*observers), pytest.raises(KeyboardInterrupt):
        seen(EVERY_WAY[where], backoff(N2), [NotReady, 1])
    assert recorder.check() == {"well" if kind is Ended else "cancelled": 1}


def test_the_failure_of_a_run_is_freed_while_it_is_observed() -> None:
    from weakref import ref

    class Failed(NotReady):
        pass

    failures: list[Any] = []

    def fail() -> None:
        failure = Failed()
        failures.append(ref(failure))
        try:
            raise failure
        finally:
            del failure

    gc.disable()
    try:
        with observed(lambda event: None), sleeps():
            with pytest.raises(Failed):
                backoff(N2).call(fail)
            with pytest.raises(Failed):
                at(N2).retry(call(fail)).run(live())
        assert [failure() for failure in failures] == [None] * 6
    finally:
        gc.enable()


wrong: list[Any] = [3, None, Recorder, "print"]


@pytest.mark.parametrize("observer", wrong)
@pytest.mark.parametrize("way", [observe, lambda one: observed(one).__enter__()])
def test_what_is_not_a_function_is_refused(way: Callable[[Any], object], observer: Any) -> None:
    with pytest.raises(Misuse, match="is not an observer: give a function of one event"):
        way(observer)


def test_events_are_values() -> None:
    recorder = Recorder()
    with observed(recorder):
        backoff(N1).call(pow, 2, 5)
    began, issued, *_ = recorder.events
    assert isinstance(began, Began)
    run = began.run
    same = (
        Began(run),
        Issued(run, recorder.of(Issued)[0].command),
        Answered(recorder.of(Issued)[0], recorder.of(Answered)[0].seconds, None),
        Ended(run, "well", recorder.of(Ended)[0].seconds, None),
    )
    assert tuple(recorder.events) == same
    assert len({*recorder.events, *same}) == 4
    assert began != Began(Run())
    assert repr(issued) == f"Issued(run=<Run {run.id} of pow>, command=call(pow, 2, 5))"


def test_observe_is_for_good() -> None:
    code = """
from ixbackoff import N1, backoff
from ixbackoff.observing import observe
observe(lambda event: print(type(event).__name__))
backoff(N1).call(int)
"""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == ["Began", "Issued", "Answered", "Ended"]
