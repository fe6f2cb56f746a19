"""Circuit breakers: what opens and closes them, and what an open one does to programs."""

from __future__ import annotations

import asyncio
import copy
import gc
import pickle
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from ixbackoff import (
    FOREVER,
    N0,
    N1,
    N2,
    N3,
    N5,
    Call,
    CircuitBreaker,
    CircuitOpen,
    ClientError,
    Constant,
    DeadlineExceeded,
    Delay,
    Do,
    Log,
    Misuse,
    NotReady,
    Now,
    RetryBudget,
    ServerError,
    Throttled,
    Transient,
    all_of,
    answered_by,
    at,
    attempt,
    backoff,
    call,
    do,
    unroll,
)
from ixbackoff.testing import Virtual, always, answers, takes

from ..support.ways.breakers import opened, refused
from ..support.ways.budgets import ASK, world_of
from ..support.ways.programs import Ask

OTHER = Ask("other")
breaker: Any = CircuitBreaker


def two_in_ten(rest: float = 30.0) -> CircuitBreaker:
    return CircuitBreaker(failures=2, within=10, open_for=rest)


class TestStates:
    """Closed, open, half open."""

    def test_enough_failures_open_it_and_a_try_then_fails_at_once(self) -> None:
        breaker, world = two_in_ten(), world_of(NotReady(), NotReady())
        with pytest.raises(CircuitOpen) as caught:
            at(N2).retry(ASK).run(world.interpreter, breaker=breaker)
        assert world.waits == [1.0, 2.0]
        assert caught.value.retry_after == 28.0
        assert world.commands.count(ASK) == 2
        assert caught.value.__notes__ == ["ixbackoff: tries: 3, waits: 2, 3 s in all"]

    def test_the_ladder_waits_what_is_left_and_a_success_closes_it(self) -> None:
        breaker, world = two_in_ten(), world_of(NotReady(), NotReady(), 7)
        assert at(N3).retry(ASK).run(world.interpreter, breaker=breaker) == 7
        assert world.waits == [1.0, 2.0, 28.0]
        assert breaker.state == "closed"

    def test_a_probe_that_fails_opens_it_for_another_rest(self) -> None:
        breaker, world = two_in_ten(), world_of(*[NotReady()] * 3, 7)
        assert at(N5).retry(ASK).run(world.interpreter, breaker=breaker) == 7
        assert world.waits == [1.0, 2.0, 28.0, 28.0, 28.0]  # it is asked at 31 and 87 s

    def test_a_success_of_the_probe_forgets_the_failures(self) -> None:
        breaker = two_in_ten(rest=1)
        for now in (0.0, 1.0):
            breaker.fail(0, now)
        breaker.succeed(breaker.admit(2.0))
        breaker.fail(0, 2.5)
        assert breaker.closed
        breaker.fail(0, 3.0)
        assert not breaker.closed

    def test_failures_that_are_further_apart_do_not_open_it(self) -> None:
        breaker = two_in_ten()
        for now in (0.0, 10.1, 20.3):
            breaker.fail(0, now)
        assert breaker.closed
        breaker.fail(0, 30.3)
        assert breaker.state == "open"

    def test_successes_between_them_do_not_forget_the_failures(self) -> None:
        breaker, world = two_in_ten(), world_of(NotReady(), 1, NotReady())
        assert at(N1).retry(ASK).run(world.interpreter, breaker=breaker) == 1
        with pytest.raises(NotReady):
            at(N0).do(ASK).run(world.interpreter, breaker=breaker)
        assert breaker.state == "open"

    def test_each_state_is_shown(self) -> None:
        breaker = opened()
        assert repr(breaker) == "<CircuitBreaker: open, opens for 30 s after 1 failure within 1 s>"
        breaker.admit(30.0)
        assert breaker.state == "half open"
        assert "half open" in repr(breaker)
        assert repr(two_in_ten()).startswith("<CircuitBreaker: closed")


class TestWhatCounts:
    """Which failures count, and what a try is."""

    @pytest.mark.parametrize("failure", [ClientError(404), KeyError("bug")], ids=repr)
    def test_a_failure_that_may_not_pass_opens_nothing(self, failure: Exception) -> None:
        breaker = CircuitBreaker(failures=1, within=10, open_for=30)
        with pytest.raises(type(failure)):
            at(N3).retry(ASK).run(world_of(failure).interpreter, breaker=breaker)
        assert breaker.closed

    @pytest.mark.parametrize("failure", [ClientError(404), KeyError("bug")], ids=repr)
    def test_as_the_outcome_of_a_probe_it_is_an_answer(self, failure: Exception) -> None:
        breaker, world = opened(), world_of(failure)
        world.now = 30.0
        with pytest.raises(type(failure)):
            at(N0).do(ASK).run(world.interpreter, breaker=breaker)
        assert breaker.closed

    def test_on_says_which_failures_count(self) -> None:
        breaker = CircuitBreaker(failures=1, within=10, open_for=30, on=KeyError)
        with pytest.raises(NotReady):
            at(N0).do(ASK).run(world_of(NotReady()).interpreter, breaker=breaker)
        assert breaker.closed
        with pytest.raises(KeyError):
            at(N0).do(ASK).run(world_of(KeyError()).interpreter, breaker=breaker)
        assert not breaker.closed

    def test_a_misuse_tells_nothing(self) -> None:
        breaker = opened()
        world = Virtual(Ask.handled_by(always(Misuse("wrong"))))
        world.now = 30.0
        with pytest.raises(Misuse):
            at(N0).do(ASK).run(world.interpreter, breaker=breaker)
        assert breaker.state == "open"
        assert breaker.admit(30.0)  # the next try is the probe

    def test_an_attempt_is_one_try_with_all_of_its_commands(self) -> None:
        breaker = CircuitBreaker(failures=1, within=10, open_for=30)

        @attempt
        def both() -> Do[Ask, int]:
            try:
                yield from ASK
            except NotReady:
                return (yield from OTHER)
            return 0

        world = world_of(NotReady(), 7)
        assert at(N0).do(both()).run(world.interpreter, breaker=breaker) == 7
        assert breaker.closed

    def test_what_needs_no_service_is_not_refused_and_closes_nothing(self) -> None:
        breaker, world = opened(), world_of()
        world.now = 30.0
        at(N0).do(Log("hello")).do(Now()).run(world.interpreter, breaker=breaker)
        assert breaker.state == "open"

    def test_effects_at_the_same_time_are_one_try(self) -> None:
        breaker, world = two_in_ten(), world_of(NotReady(), NotReady())
        with pytest.raises(NotReady):
            at(N0).do(all_of(ASK, OTHER)).run(world.interpreter, breaker=breaker)
        assert breaker.closed

    def test_a_try_that_a_deadline_breaks_off_counts(self) -> None:
        for limited in (do(ASK).limit(5), do(ASK)):
            breaker = CircuitBreaker(failures=1, within=10, open_for=30)
            world = Virtual(Ask.handled_by(answers(takes(60, 1))))
            with pytest.raises(DeadlineExceeded):
                at(N0).do(limited).run(world.interpreter, breaker=breaker, within=8)
            assert breaker.state == "open"

    def test_a_try_for_which_no_time_was_left_tells_nothing(self) -> None:
        breaker = CircuitBreaker(failures=1, within=10, open_for=30)
        world: Virtual[Any] = Virtual(Call[Any].handled_by(lambda command: command()))

        def late() -> None:
            world.now += 9

        work = do(call(late)).then(lambda _: call(print, "never"))
        with pytest.raises(DeadlineExceeded):
            at(N0).do(work).run(world.interpreter, breaker=breaker, within=8)
        assert breaker.closed

    def test_an_error_in_on_is_the_failure_and_frees_the_probe(self) -> None:
        def broken(failure: Exception) -> bool:
            raise LookupError(str(failure))

        breaker = CircuitBreaker(failures=1, within=10, open_for=30, on=broken)
        breaker.fail(0, 0.0)
        world = world_of(NotReady("why"))
        world.now = 30.0
        with pytest.raises(LookupError, match="why"):
            at(N0).do(ASK).run(world.interpreter, breaker=breaker)
        assert breaker.admit(30.0)


class TestPrograms:
    """What a breaker does to programs."""

    def test_at_n0_the_try_fails_at_once(self) -> None:
        world = world_of()
        with pytest.raises(CircuitOpen, match="circuit open: the service is not asked for 30 s"):
            at(N0).do(ASK).run(world.interpreter, breaker=opened())
        assert world.commands == []

    def test_forever_waits_until_it_is_well(self) -> None:
        world = world_of(*[NotReady()] * 5, 7)
        breaker = two_in_ten(rest=5)
        program = at(FOREVER).retry(ASK)
        schedule = Constant(1)
        assert program.run(world.interpreter, schedule=schedule, breaker=breaker) == 7
        assert world.waits == sorted(world.waits)

    def test_a_step_recovers_from_an_open_one(self) -> None:
        guarded = do(ASK).guarded(opened())
        assert at(N0).do(guarded).or_else(OTHER).run(world_of(8).interpreter) == 8

    def test_two_services_have_a_breaker_each(self) -> None:
        down, well = opened(), two_in_ten()
        first, second = do(ASK).guarded(down), do(OTHER).guarded(well)
        world = world_of(8)
        assert at(N0).do(first.or_else(second)).run(world.interpreter) == 8
        world.expect(OTHER)

    def test_the_refusal_of_another_breaker_tells_nothing(self) -> None:
        outer, inner = opened(rest=10), opened(rest=60)
        world = world_of()
        world.now = 20.0
        with pytest.raises(CircuitOpen):
            at(N0).do(do(ASK).guarded(inner)).run(world.interpreter, breaker=outer)
        assert outer.admit(20.0)  # its probe has left its place

    def test_resume_does_not_ask_again_what_was_answered_before_it_was_refused(self) -> None:
        breaker = CircuitBreaker(failures=1, within=10, open_for=30)
        world = world_of(1, NotReady(), 2)
        work = do(ASK).then(lambda _: OTHER)
        assert at(N3).resume(work.guarded(breaker)).run(world.interpreter) == 2
        assert [command for command in world.commands if isinstance(command, Ask)] == [
            ASK,
            OTHER,
            OTHER,
        ]
        assert world.waits == [1.0, 29.0]

    def test_a_try_is_guarded_once(self) -> None:
        breaker = two_in_ten()
        guarded = do(ASK).guarded(breaker)
        with pytest.raises(Misuse, match="would refuse its own probe: guard the try once"):
            at(N1).retry(guarded).run(world_of(1).interpreter, breaker=breaker)
        with pytest.raises(Misuse, match="twice"):
            at(N1).retry(guarded.guarded(breaker)).run(world_of(1).interpreter)
        assert at(N1).do(guarded).retry(guarded).run(world_of(1, 2).interpreter) == 2

    def test_a_try_that_refuses_its_own_probe_says_so(self) -> None:
        breaker = opened()
        inner = backoff(N0, breaker=breaker)(lambda: 1)
        outer = backoff(N1, breaker=breaker)(inner)
        world: Virtual[Any] = Virtual(Call[Any].handled_by(lambda command: command()))
        world.now = 30.0
        with answered_by(world.interpreter):
            with pytest.raises(Misuse, match="twice"):
                outer()
            assert inner() == 1

    def test_vary_and_bind_go_through_it(self) -> None:
        for program in (
            at(N0).retry_with(lambda _: ASK),
            at(N0).do(Log("a")).bind(lambda _: at(N0).retry(ASK)),
        ):
            with pytest.raises(CircuitOpen):
                program.run(world_of().interpreter, breaker=opened())

    def test_a_wait_that_leaves_no_time_is_not_begun(self) -> None:
        world = world_of()
        with pytest.raises(CircuitOpen) as caught:
            at(N3).retry(ASK).run(world.interpreter, breaker=opened(), within=20)
        assert world.waits == []
        assert "would not end before the deadline" in caught.value.__notes__[0]

    def test_a_budget_and_a_breaker_go_together(self) -> None:
        world = world_of(*[NotReady()] * 2)
        with pytest.raises(CircuitOpen):
            at(N5).retry(ASK).run(world.interpreter, breaker=two_in_ten(), budget=RetryBudget(2))
        assert world.waits == [1.0, 2.0]

    def test_it_needs_the_time(self) -> None:
        interpreter = Ask.handled_by(always(1)) | Delay.handled_by(lambda _: None)
        with pytest.raises(Misuse, match="No handler for Now"):
            at(N1).retry(ASK).run(interpreter, breaker=two_in_ten())
        guarded: Any = at(N1).retry(do(ASK).guarded(opened()))
        with pytest.raises(Misuse, match="No handler for Now"):
            guarded.run(interpreter)

    def test_a_run_may_be_awaited(self) -> None:
        breaker, world = two_in_ten(), world_of(NotReady(), NotReady(), 7)
        program = at(N3).retry(ASK)
        assert asyncio.run(program.run_async(world.interpreter, breaker=breaker)) == 7
        assert world.waits == [1.0, 2.0, 28.0]

    def test_blocks_go_through_it(self) -> None:
        breaker = CircuitBreaker(failures=1, within=10, open_for=30)
        patiently = backoff(N2, schedule=Constant(0), breaker=breaker)
        world: Virtual[Any] = Virtual(Call[Any].handled_by(lambda command: command()))
        numbers: list[int] = []

        def block() -> None:
            for one_try in patiently:
                with one_try:
                    numbers.append(one_try.number)
                    if len(numbers) == 1:
                        raise NotReady

        with answered_by(world.interpreter):
            block()
        assert (numbers, world.waits) == ([1, 2], [0.0, 30.0])
        assert breaker.closed


class TestProbes:
    """A probe that does not come to its end."""

    def test_while_it_runs_others_wait_as_long_as_it_may_take(self) -> None:
        breaker = opened()
        breaker.admit(30.0)
        told = [refused(breaker, 35.0) for _ in range(1000)]
        assert told[0] == min(told) == 25.0
        assert max(told) < 85.0
        for third in range(3):  # evenly spread
            between = [one for one in told if 20 * third <= one - 25 < 20 * (third + 1)]
            assert len(between) == pytest.approx(333, abs=2)

    def test_one_that_hangs_loses_its_place_after_the_rest(self) -> None:
        breaker = opened()
        hung = breaker.admit(30.0)
        second = breaker.admit(60.0)
        breaker.succeed(hung)
        breaker.release(hung)
        breaker.fail(hung, 61.0)
        assert breaker.state == "half open"
        breaker.succeed(second)
        assert breaker.closed

    @pytest.mark.parametrize("stop", [KeyboardInterrupt, GeneratorExit, asyncio.CancelledError])
    def test_one_that_is_stopped_leaves_its_place(self, stop: type[BaseException]) -> None:
        breaker, world = opened(), Virtual(Ask.handled_by(always(stop())))
        world.now = 30.0
        with pytest.raises(stop):
            at(N0).do(ASK).run(world.interpreter, breaker=breaker)
        assert breaker.state == "open"
        assert breaker.admit(30.0)

    def test_one_that_is_dropped_leaves_its_place(self) -> None:
        breaker = opened()
        stream = unroll(at(N0).do(ASK), breaker=breaker)
        assert isinstance(next(stream), Now)
        assert stream.send(30.0) == ASK
        assert breaker.state == "half open"
        del stream
        gc.collect()
        assert breaker.admit(30.0)

    def test_a_failure_of_the_clock_frees_it(self) -> None:
        breaker = opened()
        stream = unroll(at(N0).do(ASK), breaker=breaker)
        next(stream)
        stream.send(30.0)
        assert isinstance(stream.throw(NotReady()), Now)
        with pytest.raises(OSError, match="no clock"):
            stream.throw(OSError("no clock"))
        assert breaker.admit(30.0)

    def test_a_clock_that_goes_back_begins_the_rest_again(self) -> None:
        breaker = CircuitBreaker(failures=1, within=1, open_for=30)
        breaker.fail(0, 1e6)
        assert refused(breaker, 5.0) == 30.0
        assert refused(breaker, 15.0) == 20.0
        assert breaker.admit(35.0)

    def test_a_wait_of_what_is_left_is_enough_whatever_the_rounding(self) -> None:
        for number in range(1, 2000):
            breaker = CircuitBreaker(failures=1, within=1, open_for=0.1 * number)
            breaker.fail(0, 0.3 * number)
            later = 0.3 * number + 0.07 * number
            assert breaker.admit(later + refused(breaker, later))


class TestTheFailure:
    """CircuitOpen."""

    def test_it_is_transient_and_can_be_copied(self) -> None:
        breaker = opened(rest=2.5)
        with pytest.raises(CircuitOpen) as caught:
            breaker.admit(0.0)
        failure = caught.value
        assert isinstance(failure, Transient)
        for same in (copy.copy(failure), pickle.loads(pickle.dumps(failure))):  # noqa: S301
            assert (type(same), same.retry_after) == (CircuitOpen, 2.5)
        assert str(CircuitOpen()) == "circuit open: the service is not asked"

    def test_it_says_where_it_is_from(self) -> None:
        assert CircuitOpen.__module__ == CircuitBreaker.__module__ == "ixbackoff"


CANNOT_BE: dict[str, tuple[Callable[[], Any], str]] = {
    "no failures": (lambda: breaker(failures=0, within=1, open_for=1), "failures=0: give a whole"),
    "half a failure": (lambda: breaker(failures=1.5, within=1, open_for=1), "failures=1.5: give"),
    "failures as text": (lambda: breaker(failures="5", within=1, open_for=1), "failures='5': give"),
    "too many": (lambda: breaker(failures=10**9, within=1, open_for=1), "failures=1000000000: "),
    "far too many": (lambda: breaker(failures=10**400, within=1, open_for=1), "failures=1000"),
    "within nothing": (lambda: breaker(failures=1, within=0, open_for=1),
        "within=0: give a number"),
    "within nan": (lambda: breaker(failures=1, within=float("nan"), open_for=1), "within=nan: "),
    "no rest": (lambda: breaker(failures=1, within=1, open_for=0),
        "open_for=0: give a number of seconds"),
    "a negative rest": (lambda: breaker(failures=1, within=1, open_for=-1), "open_for=-1: give"),
    "an endless rest": (lambda: breaker(failures=1, within=1, open_for=float("inf")),
        "open_for=inf"),
    "a rest as text": (lambda: breaker(failures=1, within=1, open_for="30"), "open_for='30': give"),
    "without a rest": (lambda: breaker(failures=1, within=1, open_for=None), "open_for=None: give"),
    "on nothing": (lambda: breaker(failures=1, within=1, open_for=1, on=5),
        "on=5 chooses no failures"),
    "on nobody": (lambda: breaker(failures=1, within=1, open_for=1, on=[]), r"on=\[\] chooses no"),
}  # fmt: skip


@pytest.mark.parametrize(("make", "message"), CANNOT_BE.values(), ids=CANNOT_BE)
def test_a_breaker_that_cannot_be_is_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        make()
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("breaker", [CircuitBreaker, 5, "open", RetryBudget(1)], ids=repr)
def test_what_is_not_a_breaker_is_refused(breaker: Any) -> None:
    sentence = "is not a circuit breaker: give a CircuitBreaker"
    with pytest.raises(TypeError, match=sentence):
        at(N0).do(ASK).run(world_of(1).interpreter, breaker=breaker)
    with pytest.raises(TypeError, match=sentence):
        do(ASK).guarded(breaker)
    with pytest.raises(TypeError, match=sentence):
        backoff(N3, breaker=breaker)


def test_it_does_not_change_from_outside() -> None:
    breaker: Any = two_in_ten()
    for name in ("failures", "within", "open_for", "state", "closed", "more"):
        with pytest.raises(AttributeError):
            setattr(breaker, name, 1)


def test_a_breaker_is_equal_only_to_itself() -> None:
    breaker = two_in_ten()
    assert breaker == breaker
    assert len({breaker, two_in_ten()}) == 2


@pytest.mark.parametrize("failure", [NotReady(), ServerError(503), Throttled(3), TimeoutError()])
def test_what_may_pass_opens_it(failure: Exception) -> None:
    breaker = CircuitBreaker(failures=1, within=10, open_for=30)
    with pytest.raises(type(failure)):
        at(N0).do(ASK).run(world_of(failure).interpreter, breaker=breaker)
    assert breaker.state == "open"


def test_a_refusal_in_another_process_is_not_taken_for_ones_own() -> None:
    breaker = CircuitBreaker(failures=1, within=1, open_for=30)
    breaker.fail(0, 0.0)
    with pytest.raises(CircuitOpen) as caught:
        breaker.admit(1.0)
    from_a_fork = pickle.loads(pickle.dumps(caught.value))  # noqa: S301  its own
    assert from_a_fork.retry_after == 29
    assert breaker.blames(from_a_fork) is None
    with pytest.raises(Misuse, match="goes through one circuit breaker twice"):
        breaker.blames(caught.value)


def test_lengths_of_time_may_be_timedeltas() -> None:
    untyped: Any = True
    assert repr(
        CircuitBreaker(failures=1, within=timedelta(minutes=1), open_for=timedelta(seconds=2))
    ) == (repr(CircuitBreaker(failures=1, within=60, open_for=2)))
    with pytest.raises(ValueError, match="failures=True: give a whole number"):
        CircuitBreaker(failures=untyped, within=1, open_for=1)
