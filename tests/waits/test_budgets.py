"""Retry budgets: their arithmetic, step by step, and what they do to programs that share one."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import permutations
from threading import Barrier
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import (
    N0,
    N1,
    N2,
    N3,
    N5,
    Budget,
    ClientError,
    Delay,
    Exponential,
    NotReady,
    Now,
    ServerError,
    Throttled,
    at,
    unroll,
)
from ixbackoff._limits.budgets import REFUSED, Account, budgeted
from ixbackoff._running.loops import answered
from ixbackoff.schedules import Constant
from ixbackoff.testing import Virtual, always, answers

from ..support.observing import Ask

ASK = Ask("a")


def world_of(*script: Any) -> Virtual[Any]:
    return Virtual(Ask.handled_by(answers(*script)))


def outcome(program: Any, budget: Budget, *script: Any) -> Any:
    """What a program comes to: its value, or its failure and how often it waited."""
    world = world_of(*script)
    try:
        return program.run(world.interpreter, budget=budget)
    except Exception as failure:
        return type(failure), len(world.waits)


def approximately(tokens: float) -> Any:
    return pytest.approx(tokens, abs=1e-9)


class TestBotocore:
    """botocore 1.44.5: 500 units; 14 a retry, 5 when throttled; 1 back, or what was taken last."""

    def test_a_retry_takes_14_and_after_throttling_5(self) -> None:
        budget = Budget.botocore()
        account = budget.open(0.0)
        assert account.afford(ServerError(500), 0.0)
        assert budget.left == approximately(500 - 14)
        assert account.afford(Throttled(), 0.0)
        assert budget.left == approximately(500 - 14 - 5)

    def test_a_success_after_retries_gives_back_what_the_last_one_took(self) -> None:
        budget = Budget.botocore()
        account = budget.open(0.0)
        account.afford(ServerError(500), 0.0)
        account.afford(Throttled(), 0.0)
        account.close(None, 0.0)
        assert budget.left == approximately(500 - 14 - 5 + 5)

    def test_a_success_without_retries_gives_1_and_never_too_much(self) -> None:
        budget = Budget.botocore()
        budget.open(0.0).close(None, 0.0)
        assert budget.left == approximately(500)
        failed = budget.open(0.0)
        failed.afford(ServerError(500), 0.0)
        failed.close(ServerError(500), 0.0)
        assert budget.left == approximately(486)
        budget.open(0.0).close(None, 0.0)
        assert budget.left == approximately(487)

    def test_35_retries_can_be_made_in_an_outage(self) -> None:
        budget = Budget.botocore()
        account = budget.open(0.0)
        assert [account.afford(ServerError(503), 0.0) for _ in range(37)] == [True] * 35 + [
            False
        ] * 2
        assert budget.left == approximately(500 - 35 * 14)
        assert [account.afford(Throttled(), 0.0) for _ in range(3)] == [True] * 2 + [False]
        assert budget.left == approximately(0)

    @given(st.lists(st.tuples(st.lists(st.booleans(), max_size=9), st.booleans()), max_size=40))
    def test_it_counts_as_botocore_does(self, runs: list[tuple[list[bool], bool]]) -> None:
        standard: Any = pytest.importorskip("botocore.retries.standard")
        quota: Any = pytest.importorskip("botocore.retries.quota")
        if standard.RetryQuotaChecker._RETRY_COST != 14:
            pytest.skip("another botocore, with other constants")

        class Context:
            """What botocore knows of a request."""

            def __init__(self) -> None:
                self.throttled = False
                self.request_context: dict[str, Any] = {}

            def is_throttling_error_from_context(self, context: Context) -> bool:
                return context.throttled

            def add_retry_metadata(self, **_: Any) -> None:
                pass

        class Response:
            def __init__(self, status_code: int) -> None:
                self.status_code = status_code

        theirs = quota.RetryQuota()
        checker = standard.RetryQuotaChecker(theirs, Context())
        budget = Budget.botocore()
        for failures, well in runs:
            context, account = Context(), budget.open(0.0)
            failure: Exception | None = None
            for throttled in failures:
                context.throttled = throttled
                failure = Throttled() if throttled else ServerError(500)
                affordable = account.afford(failure, 0.0)
                assert affordable == checker.acquire_retry_quota(context)
                if not affordable:
                    break
            else:
                failure = None if well else ServerError(500)
            account.close(failure, 0.0)
            response = Response(200 if failure is None else 500)
            checker.release_retry_quota(context.request_context, response)
            assert budget.left == theirs.available_capacity


class TestGrpc:
    """gRFC A6: a failure takes 1, a success gives tokenRatio, retries need more than half."""

    def test_its_example_tries_again_after_four_failures_and_not_after_the_fifth(self) -> None:
        budget = Budget.grpc(max_tokens=10, token_ratio=0.1)
        account = budget.open(0.0)
        seen = [(account.afford(ServerError(503), 0.0), budget.left) for _ in range(6)]
        expected = [(True, 9), (True, 8), (True, 7), (True, 6), (False, 5), (False, 4)]
        assert seen == [(affordable, approximately(left)) for affordable, left in expected]

    def test_it_tries_again_only_when_the_count_has_risen_above_half(self) -> None:
        budget = Budget.grpc()
        for _ in range(5):
            budget.open(0.0).close(ServerError(503), 0.0)
        assert budget.left == approximately(5)
        for _ in range(10):
            budget.open(0.0).close(None, 0.0)
        assert budget.left == approximately(6)
        assert not budget.open(0.0).afford(ServerError(503), 0.0)  # it is at half again: 5
        for _ in range(11):
            budget.open(0.0).close(None, 0.0)
        assert budget.left == approximately(6.1)
        assert budget.open(0.0).afford(ServerError(503), 0.0)
        assert budget.left == approximately(5.1)

    def test_it_stays_between_0_and_max_tokens(self) -> None:
        budget = Budget.grpc()
        budget.open(0.0).close(None, 0.0)
        assert budget.left == approximately(10)
        for _ in range(12):
            budget.open(0.0).close(ServerError(503), 0.0)
        assert budget.left == approximately(0)
        budget.open(0.0).close(None, 0.0)
        assert budget.left == approximately(0.1)

    def test_a_failure_is_counted_once(self) -> None:
        budget = Budget.grpc()
        for _ in range(4):
            budget.open(0.0).close(NotReady(), 0.0)
        account, failure = budget.open(0.0), NotReady()
        assert not account.afford(failure, 0.0)
        account.close(failure, 0.0)
        assert budget.left == approximately(5)

    def test_the_last_failure_of_a_ladder_is_counted_even_if_it_is_the_same_object(self) -> None:
        budget = Budget.grpc()
        with pytest.raises(ServerError):
            at(N2).retry(ASK).run(
                Virtual(Ask.handled_by(always(ServerError(503)))).interpreter, budget=budget
            )
        assert budget.left == approximately(7)

    @pytest.mark.parametrize("failure", [ClientError(404), KeyError("k"), KeyboardInterrupt()])
    def test_what_says_nothing_of_the_server_is_not_counted(self, failure: BaseException) -> None:
        budget = Budget.grpc()
        with pytest.raises(type(failure)):
            at(N2).retry(ASK).run(world_of(failure).interpreter, budget=budget)
        assert budget.left == approximately(10)


class TestFinagle:
    """RetryBudget.scala: each program gives 1 and a retry takes 5, for 10 s, in ten slices."""

    def test_100_retries_are_in_reserve(self) -> None:
        budget = Budget.finagle()
        account = budget.open(0.0)
        assert budget.left == approximately(501)  # 10 a second, 10 s, 5 each; and 1 for the program
        assert [account.afford(NotReady(), 0.0) for _ in range(102)] == [True] * 100 + [False] * 2
        assert budget.left == approximately(1)

    def test_five_programs_allow_one_retry(self) -> None:
        budget = Budget.finagle(min_retries_per_second=0)
        accounts = [budget.open(0.0) for _ in range(4)]
        assert not accounts[0].afford(NotReady(), 0.0)
        accounts.append(budget.open(0.0))
        assert accounts[0].afford(NotReady(), 0.0)
        assert budget.left == approximately(0)

    def test_what_was_given_and_taken_is_forgotten_after_ten_seconds(self) -> None:
        budget = Budget.finagle(min_retries_per_second=1)
        account = budget.open(0.0)
        assert [account.afford(NotReady(), 0.0) for _ in range(11)] == [True] * 10 + [False]
        lefts = []
        for second in range(1, 12):
            account.close(None, float(second))
            lefts.append(budget.left)
        assert lefts == [approximately(1)] * 9 + [approximately(50)] * 2

    def test_a_slice_lasts_a_tenth_of_the_window(self) -> None:
        budget = Budget.finagle(min_retries_per_second=0)
        budget.open(0.0)
        budget.open(0.999)  # still in the first slice
        budget.open(1.0)
        budget.open(5.5)
        assert budget.left == approximately(4)
        budget.open(9.5).close(None, 10.5)  # 4 slices on, from 5.5; then 1: the first is forgotten
        assert budget.left == approximately(3)
        budget.open(0.0).close(None, 30.0)
        assert budget.left == approximately(0)

    def test_a_slice_begins_when_the_one_before_is_found_to_be_over(self) -> None:
        budget = Budget.finagle(min_retries_per_second=0)
        for now in (0.0, 1.9, 2.8, 10.9, 11.8):  # the second slice begins at 1.9, not at 1.0
            budget.open(now)
        assert budget.left == approximately(4)
        budget.open(11.9)
        assert budget.left == approximately(1 + 1 + 1)

    def test_what_was_taken_may_outlast_what_it_was_taken_from(self) -> None:
        budget = Budget.finagle(min_retries_per_second=1)
        for _ in range(50):
            budget.open(0.0)
        account = budget.open(9.0)
        assert sum(account.afford(NotReady(), 9.0) for _ in range(30)) == 20
        account = budget.open(10.0)  # 50 given are forgotten, 100 taken are not
        assert budget.left == 0
        assert not account.afford(NotReady(), 10.0)
        budget.open(19.0)
        assert budget.left == approximately(50 + 2)

    @pytest.mark.parametrize(
        ("percent", "cost"), [(0.1, 10), (0.3, 3.333), (1, 1), (2.0, 0.5), (1000, 0.001)]
    )
    def test_a_retry_costs_the_inverse_of_the_ratio_cut_off_at_thousandths(
        self, percent: float, cost: float
    ) -> None:
        budget = Budget.finagle(percent_can_retry=percent)
        assert budget.left == approximately(100 * cost)
        budget.open(0.0).afford(NotReady(), 0.0)
        assert budget.left == approximately(100 * cost + 1 - cost)

    def test_without_a_ratio_only_time_gives(self) -> None:
        budget = Budget.finagle(ttl=2, min_retries_per_second=3, percent_can_retry=0)
        account = budget.open(0.0)
        assert [account.afford(NotReady(), 0.0) for _ in range(7)] == [True] * 6 + [False]
        assert budget.open(2.0).afford(NotReady(), 2.0)

    def test_a_clock_that_goes_back_stands_still(self) -> None:
        budget = Budget.finagle(min_retries_per_second=0)
        for now in (50.0, 3.0, -7.0, 0.0, 50.5):
            budget.open(now)
        assert budget.left == approximately(5)

    def test_programs_ask_the_interpreter_for_the_time(self) -> None:
        budget = Budget.finagle(ttl=1, min_retries_per_second=1)
        world = Virtual(Ask.handled_by(always(ServerError(503))))
        with pytest.raises(ServerError):
            at(N5).retry(ASK).run(world.interpreter, budget=budget, schedule=Constant(0.2))
        assert len(world.waits) == 1  # the reserve
        with pytest.raises(ServerError):
            at(N5).retry(ASK).run(world.interpreter, budget=budget, schedule=Constant(1))
        assert len(world.waits) == 1
        world.now = 2.0
        with pytest.raises(ServerError):
            at(N5).retry(ASK).run(world.interpreter, budget=budget, schedule=Constant(1))
        assert len(world.waits) == 1 + 5  # each wait gives time enough for the next


class TestTokens:
    """The budget that everybody can put together."""

    def test_what_it_takes_and_gives(self) -> None:
        budget = Budget(10, cost=3, throttled_cost=4, returned=0.5, returned_after_retry=2)
        assert outcome(at(N3).retry(ASK), budget, Throttled(), ServerError(503), 7) == 7
        assert budget.left == approximately(10 - 4 - 3 + 2)
        assert outcome(at(N3).retry(ASK), budget, 7) == 7
        assert budget.left == approximately(5.5)
        assert outcome(at(N3).retry(ASK), budget, NotReady(), NotReady()) == (NotReady, 1)
        assert budget.left == approximately(2.5)

    def test_it_says_what_is_left(self) -> None:
        budget = Budget(2.5, cost=0.25)
        budget.open(0.0).afford(NotReady(), 0.0)
        assert repr(budget) == "<Budget: 2.25 of 2.5 tokens left, a retry costs 0.25>"
        assert repr(Budget(10**9)).startswith("<Budget: 1000000000 of 1000000000 tokens left")

    def test_it_is_equal_to_itself_only(self) -> None:
        budget = Budget(2)
        assert budget == budget
        assert budget != Budget(2)
        assert len({budget, Budget(2)}) == 2


class TestPrograms:
    def test_an_empty_budget_fails_at_once_with_the_failure_and_a_note(self) -> None:
        budget, failure = Budget(1), NotReady("later")
        world = world_of(NotReady(), failure)
        with pytest.raises(NotReady) as caught:
            at(N3).retry(ASK).run(world.interpreter, budget=budget)
        assert caught.value is failure
        assert world.waits == [1.0]
        assert failure.__notes__ == [
            REFUSED,
            "ixbackoff: attempts made: 2, waits: 1, 1 s in all",
        ]

    def test_the_note_is_there_once(self) -> None:
        budget, failure = Budget(1), NotReady("later")
        for _ in range(3):
            with pytest.raises(NotReady):
                at(N3).retry(ASK).run(
                    Virtual(Ask.handled_by(always(failure))).interpreter, budget=budget
                )
        assert failure.__notes__.count(REFUSED) == 1

    def test_a_program_that_fails_by_itself_has_no_note_of_the_budget(self) -> None:
        failure = NotReady("later")
        with pytest.raises(NotReady):
            at(N0).do(ASK).run(world_of(failure).interpreter, budget=Budget(1))
        assert REFUSED not in failure.__notes__

    def test_an_exception_that_takes_no_note_is_raised_all_the_same(self) -> None:
        class Bare(NotReady):
            def add_note(self, _note: str) -> None:
                raise RuntimeError

        budget = Budget(1)
        assert outcome(at(N3).retry(ASK), budget, Bare(), Bare()) == (Bare, 1)

    def test_no_step_recovers_where_the_budget_is_empty(self) -> None:
        budget = Budget(1)
        budget.open(0.0).afford(NotReady(), 0.0)
        program = at(N2).do(ASK).backoff().or_else(Ask("b")).backoff().or_else(Ask("c"))
        world = world_of(NotReady())
        with pytest.raises(NotReady):
            program.run(world.interpreter, budget=budget)
        assert world.commands == [ASK]

    def test_a_wait_of_a_program_that_is_well_costs_nothing(self) -> None:
        budget = Budget(1)
        budget.open(0.0).afford(NotReady(), 0.0)
        program = at(N2).do(ASK).wait().do(ASK).wait().do(ASK)
        assert outcome(program, budget, 1, 2, 3) == 3

    def test_programs_share_it(self) -> None:
        budget = Budget(3)
        program = at(N5).retry(ASK)
        failures = [NotReady() for _ in range(6)]
        assert outcome(program, budget, *failures) == (NotReady, 3)
        assert outcome(program, budget, *failures) == (NotReady, 0)
        assert outcome(program, budget, 7) == 7

    def test_a_wait_that_comes_too_late_costs_nothing(self) -> None:
        budget = Budget(3)
        world = Virtual(Ask.handled_by(always(NotReady())))
        with pytest.raises(NotReady):
            at(N5).retry(ASK).run(world.interpreter, budget=budget, within=2)
        assert (world.waits, budget.left) == ([1.0], 2)

    def test_the_async_run_asks_it_too(self) -> None:
        budget = Budget(1)
        world = world_of(NotReady(), NotReady())
        with pytest.raises(NotReady):
            asyncio.run(at(N3).retry(ASK).run_async(world.interpreter, budget=budget))
        assert world.waits == [1.0]

    def test_nothing_is_kept_alive(self) -> None:
        def failing(command: Ask) -> int:
            raise NotReady

        interpreter = Ask.handled_by(failing) | Delay.handled_by(lambda _: None)
        budget = Budget(1)
        for _ in range(2):  # where it becomes empty, and where it is
            gc.collect()
            gc.disable()
            try:
                with suppress(NotReady):
                    at(N2).retry(ASK).run(interpreter, budget=budget)
                assert gc.collect() == 0
            finally:
                gc.enable()


class Closing:
    """What accounts are closed with, while it is installed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen: list[BaseException | None] = []
        close = Account.close

        def noted(account: Account, failure: BaseException | None, now: float) -> None:
            self.seen.append(failure)
            close(account, failure, now)

        monkeypatch.setattr(Account, "close", noted)


@pytest.fixture
def closing(monkeypatch: pytest.MonkeyPatch) -> Closing:
    return Closing(monkeypatch)


class TestTheStream:
    """`budgeted` passes everything on, and closes its account once, however the stream ends."""

    def test_a_value(self, closing: Closing) -> None:
        stream = budgeted(unroll(at(N1).retry(ASK)), Budget(1))
        assert stream.send(None) == ASK
        assert isinstance(stream.throw(NotReady()), Delay)
        assert stream.send(None) == ASK
        with pytest.raises(StopIteration) as end:
            stream.send(5)
        assert end.value.value == 5
        assert closing.seen == [None]

    def test_a_failure(self, closing: Closing) -> None:
        failure = KeyError("k")
        stream = budgeted(unroll(at(N1).retry(ASK)), Budget(1))
        next(stream)
        with pytest.raises(KeyError):
            stream.throw(failure)
        assert closing.seen == [failure]

    def test_a_refusal(self, closing: Closing) -> None:
        budget, failure = Budget(1), NotReady()
        budget.open(0.0).afford(failure, 0.0)
        stream = budgeted(unroll(at(N1).retry(ASK)), budget)
        next(stream)
        with pytest.raises(NotReady):
            stream.throw(failure)
        assert closing.seen == [failure]

    @pytest.mark.parametrize("waiting", [False, True])
    @pytest.mark.parametrize("budget", [Budget(5), Budget.grpc(), Budget.botocore()], ids=repr)
    def test_a_cancellation_gives_nothing_back_and_takes_nothing_more(
        self, budget: Budget, waiting: bool, closing: Closing
    ) -> None:
        for end in (GeneratorExit, KeyboardInterrupt, asyncio.CancelledError):
            stream = budgeted(unroll(at(N3).retry(ASK)), budget)
            next(stream)
            if waiting:
                stream.throw(NotReady())
            before = budget.left
            with pytest.raises(end):
                stream.throw(end())
            assert budget.left == before
            assert [type(failure) for failure in closing.seen] == [end]
            closing.seen.clear()

    def test_it_can_be_closed_and_dropped(self, closing: Closing) -> None:
        stream = budgeted(unroll(at(N3).retry(ASK)), Budget(5))
        next(stream)
        stream.close()
        dropped = budgeted(unroll(at(N3).retry(ASK)), Budget(5))
        next(dropped)
        del dropped
        assert [type(failure) for failure in closing.seen] == [GeneratorExit] * 2

    def test_a_wait_that_fails_is_paid_for_and_is_no_other_failed_try(
        self, closing: Closing
    ) -> None:
        budget, failure = Budget.grpc(), ServerError(503)
        stream = budgeted(unroll(at(N3).retry(ASK)), budget)
        next(stream)
        stream.throw(failure)
        with pytest.raises(TimeoutError):
            stream.throw(TimeoutError("the clock stopped"))
        assert budget.left == approximately(9)
        assert len(closing.seen) == 1

    def test_without_a_clock_nothing_begins(self) -> None:
        stream = budgeted(unroll(at(N3).retry(ASK)), Budget.finagle())
        with pytest.raises(TypeError, match="No handler for Now"):
            answered(stream, {Ask: lambda _: pytest.fail("begun")})

    def test_a_clock_that_fails_ends_the_program(self, closing: Closing) -> None:
        stream = budgeted(unroll(at(N3).retry(ASK)), Budget.finagle())
        assert next(stream) == Now()
        assert stream.send(0.0) == ASK
        assert stream.throw(NotReady()) == Now()
        with pytest.raises(ZeroDivisionError):
            stream.throw(ZeroDivisionError())
        assert len(closing.seen) == 1

    def test_a_clock_that_tells_no_time_ends_the_program(self, closing: Closing) -> None:
        budget = Budget.finagle()
        stream = budgeted(unroll(at(N3).retry(ASK)), budget)
        next(stream)
        stream.send(0.0)
        stream.throw(NotReady())
        with pytest.raises(ValueError, match="NaN"):
            stream.send(float("nan"))
        assert len(closing.seen) == 1
        assert budget.left == approximately(501)


costs = st.integers(1, 400).map(lambda thousandths: thousandths / 100)
failures = st.sampled_from([NotReady(), Throttled(), ServerError(503), ClientError(400)])
scripts = st.lists(st.integers(0, 5) | failures, min_size=6, max_size=6)


@st.composite
def token_budgets(draw: st.DrawFn) -> tuple[Budget, float, float, float]:
    """A budget, what it holds, what a retry costs at least, and what a success gives at most."""
    cost, throttled = draw(costs), draw(costs)
    capacity = max(cost, throttled) + draw(st.floats(0, 20))
    returned = draw(st.floats(0, 1).map(lambda part: part * capacity))
    after = draw(st.none() | st.floats(0, 1).map(lambda part: part * capacity))
    budget = Budget(
        capacity,
        cost=cost,
        throttled_cost=throttled,
        returned=returned,
        returned_after_retry=after,
    )
    given_after = max(cost, throttled) if after is None else after
    return budget, budget.left, min(cost, throttled), max(returned, given_after)


@given(token_budgets(), st.lists(scripts, max_size=12))
def test_retries_are_paid_for(drawn: Any, runs: list[list[Any]]) -> None:
    budget, capacity, cost, most = drawn
    retries = successes = 0
    for script in runs:
        world = world_of(*script)
        try:
            at(N5).retry(ASK).run(world.interpreter, budget=budget)
            successes += 1
        except Exception:
            assert len(world.waits) <= 5
        retries += len(world.waits)
        assert 0 <= budget.left <= capacity
    assert retries * cost <= capacity + successes * (most + 0.001) + 1e-6


@given(st.floats(3, 40), st.floats(0.001, 2), st.lists(scripts, max_size=30))
def test_grpc_retries_are_paid_for(most: float, ratio: float, runs: list[list[Any]]) -> None:
    budget = Budget.grpc(most, ratio)
    capacity = budget.left
    retries = successes = 0
    for script in runs:
        world = world_of(*script)
        try:
            at(N5).retry(ASK).run(world.interpreter, budget=budget)
            successes += 1
        except Exception:
            assert len(world.waits) <= 5
        retries += len(world.waits)
        assert 0 <= budget.left <= capacity
    assert retries <= capacity / 2 + successes * (ratio + 0.001) + 1e-6


moments = st.lists(st.tuples(st.floats(0, 3), st.integers(0, 4)), max_size=60)


@given(st.integers(1, 60), st.integers(0, 3), st.floats(0.05, 3), moments)
def test_finagle_retries_are_paid_for(
    ttl: int, least: int, percent: float, steps: list[tuple[float, int]]
) -> None:
    budget = Budget.finagle(ttl, least, percent)
    now = 0.0
    begun: list[float] = []
    made: list[float] = []
    for passed, asked in steps:
        now += passed
        account = budget.open(now)
        begun.append(now)
        made += [now] * sum(account.afford(NotReady(), now) for _ in range(asked))
        assert budget.left >= 0
        recent = [moment for moment in made if moment > now - 0.9 * ttl]  # none is forgotten yet
        lately = [
            moment for moment in begun if moment >= now - 3 * ttl
        ]  # others are long forgotten
        cost = int(1000 / percent) / 1000
        assert len(recent) * cost <= least * ttl * cost + len(lately) + 1e-6


Deed = Callable[[Account], object]
DEEDS: list[Deed] = [
    lambda account: account.close(None, 0.0),
    lambda account: account.close(NotReady(), 0.0),
    lambda account: account.afford(NotReady(), 0.0),
    lambda account: account.afford(Throttled(), 0.0),
]


@given(st.lists(st.sampled_from(DEEDS), max_size=5))
def test_the_order_does_not_matter_for_the_total(deeds: list[Deed]) -> None:
    totals = set()
    for order in permutations(deeds):
        budget = Budget(100, cost=0.7, throttled_cost=1.1, returned=0.1)
        for account in [budget.open(0.0) for _ in range(40)]:
            account.afford(ServerError(500), 0.0)  # far from empty and from full
        for deed in order:
            deed(budget.open(0.0))
        totals.add(budget.left)
    assert len(totals) == 1


class TestAtOnce:
    """Many threads and tasks on one budget: the totals are exact."""

    def test_32_threads(self) -> None:
        budget = Budget(1000, cost=0.7, returned=0)
        together = Barrier(32)

        def client(_: int) -> int:
            world = Virtual(Ask.handled_by(always(NotReady())))
            together.wait()
            for _ in range(20):
                with pytest.raises(NotReady):
                    at(N5).retry(ASK).run(world.interpreter, budget=budget)
            return len(world.waits)

        with ThreadPoolExecutor(32) as pool:
            retries = sum(pool.map(client, range(32)))
        assert retries == 1428  # of 3,200 asked for: 1000 / 0.7
        assert budget.left == approximately(1000 - 1428 * 0.7)

    def test_32_threads_of_which_half_give(self) -> None:
        budget = Budget(1000, cost=0.1, returned=0.3)
        account = budget.open(0.0)
        for _ in range(5000):  # to the middle, so that neither end is reached
            account.afford(NotReady(), 0.0)
        together = Barrier(32)

        def client(number: int) -> None:
            together.wait()
            for _ in range(100):
                if number % 2:
                    budget.open(0.0).close(None, 0.0)
                else:
                    assert budget.open(0.0).afford(NotReady(), 0.0)

        with ThreadPoolExecutor(32) as pool:
            list(pool.map(client, range(32)))
        assert budget.left == 500 + 1600 * 0.3 - 1600 * 0.1

    def test_1000_tasks(self) -> None:
        budget = Budget(500, returned=0)
        retries = 0

        async def failing(_: Ask) -> int:
            await asyncio.sleep(0)
            raise NotReady

        async def counted(_: Delay) -> None:
            nonlocal retries
            retries += 1
            await asyncio.sleep(0)

        async def main() -> list[Any]:
            interpreter = Ask.awaited_by(failing) | Delay.awaited_by(counted)
            program = at(N2).retry(ASK)
            runs = [program.run_async(interpreter, budget=budget) for _ in range(1000)]
            return await asyncio.gather(*runs, return_exceptions=True)

        outcomes = asyncio.run(main())
        assert {type(result) for result in outcomes} == {NotReady}
        assert (retries, budget.left) == (500, 0)


number: Any = None
IMPOSSIBLE: dict[str, tuple[Callable[[], Any], str]] = {
    "no capacity": (lambda: Budget(0), "capacity=0: give a number of tokens"),
    "a negative capacity": (lambda: Budget(-1), "capacity=-1"),
    "a capacity of nan": (lambda: Budget(float("nan")), "capacity=nan"),
    "an infinite capacity": (lambda: Budget(float("inf")), "capacity=inf"),
    "a huge capacity": (lambda: Budget(10**400), "capacity=1000"),
    "a capacity as text": (lambda: Budget("10"), "capacity='10'"),  # type: ignore[arg-type]
    "no number": (lambda: Budget(number), "capacity=None"),
    "a negative cost": (lambda: Budget(10, cost=-1), "cost=-1"),
    "no cost": (lambda: Budget(10, cost=0), "cost=0"),
    "a cost above the capacity": (
        lambda: Budget(10, cost=11),
        "cost=11: give a number of tokens with which a retry can be afforded, 0.001 to 10",
    ),
    "a negative cost after throttling": (
        lambda: Budget(10, throttled_cost=-1),
        "throttled_cost=-1",
    ),
    "a cost after throttling above the capacity": (
        lambda: Budget(10, throttled_cost=10.5),
        "throttled_cost=10.5",
    ),
    "less than nothing back": (lambda: Budget(10, returned=-0.1), "returned=-0.1"),
    "more back than there is": (lambda: Budget(10, returned=11), "returned=11"),
    "less than nothing back after a retry": (
        lambda: Budget(10, returned_after_retry=-1),
        "returned_after_retry=-1",
    ),
    "grpc without tokens": (lambda: Budget.grpc(0), "max_tokens=0"),
    "grpc that never tries again": (lambda: Budget.grpc(2), "max_tokens=2: .* 2.001 to"),
    "grpc without a ratio": (lambda: Budget.grpc(token_ratio=0), "token_ratio=0"),
    "grpc with a negative ratio": (lambda: Budget.grpc(token_ratio=-0.1), "token_ratio=-0.1"),
    "grpc with a fine ratio": (lambda: Budget.grpc(token_ratio=0.0004), "token_ratio=0.0004"),
    "grpc with a large ratio": (lambda: Budget.grpc(token_ratio=11), "token_ratio=11"),
    "grpc with a ratio of nan": (
        lambda: Budget.grpc(token_ratio=float("nan")),
        "token_ratio=nan",
    ),
    "finagle with a short window": (
        lambda: Budget.finagle(ttl=0.5),
        "ttl=0.5: .* seconds, 1 to 60",
    ),
    "finagle with a long window": (lambda: Budget.finagle(ttl=61), "ttl=61"),
    "finagle with a negative reserve": (
        lambda: Budget.finagle(min_retries_per_second=-1),
        "min_retries_per_second=-1",
    ),
    "finagle with a broken reserve": (
        lambda: Budget.finagle(min_retries_per_second=1.5),  # type: ignore[arg-type]
        "min_retries_per_second=1.5: give a whole number",
    ),
    "finagle with a negative ratio": (
        lambda: Budget.finagle(percent_can_retry=-0.1),
        "percent_can_retry=-0.1",
    ),
    "finagle with a large ratio": (
        lambda: Budget.finagle(percent_can_retry=1001),
        "percent_can_retry=1001",
    ),
    "finagle with nothing": (
        lambda: Budget.finagle(min_retries_per_second=0, percent_can_retry=0.0),
        "nothing could ever be tried again",
    ),
}


@pytest.mark.parametrize(("make", "message"), IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_a_budget_that_cannot_be_is_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("budget", [Budget, Budget.grpc, 5, "botocore"], ids=repr)
def test_what_is_no_budget_is_refused(budget: Any) -> None:
    with pytest.raises(TypeError, match="is not a budget: give a Budget"):
        at(N0).do(ASK).run(world_of(1).interpreter, budget=budget)


def test_the_smallest_ratio_of_finagle_is_as_dear_as_its_numbers_go() -> None:
    assert Budget.finagle(percent_can_retry=5e-324).left == 100 * (2**31 - 1) / 1000


def test_a_schedule_and_a_budget_go_together() -> None:
    world = world_of(NotReady(), NotReady(), NotReady())
    with pytest.raises(NotReady):
        at(N5).retry(ASK).run(world.interpreter, schedule=Exponential(base=0.1), budget=Budget(2))
    assert world.waits == [0.1, 0.2]
