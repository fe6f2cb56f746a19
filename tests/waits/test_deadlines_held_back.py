"""No attempt swallows a deadline, and no deadline swallows an interrupt."""

from __future__ import annotations

from typing import Any

import pytest

from ixbackoff import (
    N0,
    N1,
    N3,
    DeadlineExceeded,
    Do,
    Log,
    Misuse,
    NotReady,
    Now,
    ServerError,
    at,
    attempt,
    do,
    time_limit,
    unroll,
)
from ixbackoff.testing import Unscripted, Virtual, always, answers, takes

from ..support.ways.attempts import Stop, clean_up, guarded, holding, work
from ..support.ways.programs import Ask


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
    assert raised.value.__notes__ == ["ixbackoff: tries: 1, waits: 0, 0 s in all"]
    world.expect(work, clean_up)


def test_after_a_failed_cleaning_up_at_the_deadline_nothing_is_tried_again() -> None:
    world = Virtual(Ask.handled_by(answers(takes(60, 1), ServerError(503))))
    with pytest.raises(DeadlineExceeded):
        at(N3).retry(guarded(), on=Exception).run(world.interpreter, within=5)
    world.expect(work, clean_up)


@pytest.mark.parametrize("then", [None, NotReady()])
def test_after_the_deadline_no_step_goes_on_whatever_the_attempt_caught(then: Any) -> None:
    world = Virtual(Ask.handled_by(answers(takes(60, 1), 2)))
    program = at(N0).do(holding(BaseException, then)).or_else(Ask("instead")).do(Ask("next"))
    with pytest.raises(DeadlineExceeded):
        program.run(world.interpreter, within=5)
    world.expect(work)


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
