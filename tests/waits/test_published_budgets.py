"""The budgets of botocore, gRPC and Finagle, step by step."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import N2, N5, ClientError, NotReady, RetryBudget, ServerError, Throttled, at
from ixbackoff.schedules import Constant
from ixbackoff.testing import Virtual, always

from ..support.ways.budgets import ASK, approximately, world_of
from ..support.ways.programs import Ask


class TestBotocore:
    """botocore 1.44.5: 500 units; 14 a retry, 5 when throttled; 1 back, or what was taken last."""

    def test_a_retry_takes_14_and_after_throttling_5(self) -> None:
        budget = RetryBudget.botocore()
        account = budget.open(0.0)
        assert account.afford(ServerError(500), 0.0)
        assert budget.left == approximately(500 - 14)
        assert account.afford(Throttled(), 0.0)
        assert budget.left == approximately(500 - 14 - 5)

    def test_a_success_after_retries_gives_back_what_the_last_one_took(self) -> None:
        budget = RetryBudget.botocore()
        account = budget.open(0.0)
        account.afford(ServerError(500), 0.0)
        account.afford(Throttled(), 0.0)
        account.close(None, 0.0)
        assert budget.left == approximately(500 - 14 - 5 + 5)

    def test_a_success_without_retries_gives_1_and_never_too_much(self) -> None:
        budget = RetryBudget.botocore()
        budget.open(0.0).close(None, 0.0)
        assert budget.left == approximately(500)
        failed = budget.open(0.0)
        failed.afford(ServerError(500), 0.0)
        failed.close(ServerError(500), 0.0)
        assert budget.left == approximately(486)
        budget.open(0.0).close(None, 0.0)
        assert budget.left == approximately(487)

    def test_35_retries_can_be_made_in_an_outage(self) -> None:
        budget = RetryBudget.botocore()
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
            """The parts of a request that botocore's quota looks at."""

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
        budget = RetryBudget.botocore()
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
        budget = RetryBudget.grpc(max_tokens=10, token_ratio=0.1)
        account = budget.open(0.0)
        seen = [(account.afford(ServerError(503), 0.0), budget.left) for _ in range(6)]
        expected = [(True, 9), (True, 8), (True, 7), (True, 6), (False, 5), (False, 4)]
        assert seen == [(affordable, approximately(left)) for affordable, left in expected]

    def test_it_tries_again_only_when_the_count_has_risen_above_half(self) -> None:
        budget = RetryBudget.grpc()
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
        budget = RetryBudget.grpc()
        budget.open(0.0).close(None, 0.0)
        assert budget.left == approximately(10)
        for _ in range(12):
            budget.open(0.0).close(ServerError(503), 0.0)
        assert budget.left == approximately(0)
        budget.open(0.0).close(None, 0.0)
        assert budget.left == approximately(0.1)

    def test_a_failure_is_counted_once(self) -> None:
        budget = RetryBudget.grpc()
        for _ in range(4):
            budget.open(0.0).close(NotReady(), 0.0)
        account, failure = budget.open(0.0), NotReady()
        assert not account.afford(failure, 0.0)
        account.close(failure, 0.0)
        assert budget.left == approximately(5)

    def test_the_last_failure_of_a_ladder_is_counted_even_if_it_is_the_same_object(self) -> None:
        budget = RetryBudget.grpc()
        with pytest.raises(ServerError):
            at(N2).retry(ASK).run(
                Virtual(Ask.handled_by(always(ServerError(503)))).interpreter, budget=budget
            )
        assert budget.left == approximately(7)

    @pytest.mark.parametrize("failure", [ClientError(404), KeyError("k"), KeyboardInterrupt()])
    def test_what_says_nothing_of_the_server_is_not_counted(self, failure: BaseException) -> None:
        budget = RetryBudget.grpc()
        with pytest.raises(type(failure)):
            at(N2).retry(ASK).run(world_of(failure).interpreter, budget=budget)
        assert budget.left == approximately(10)


class TestFinagle:
    """RetryBudget.scala: each program gives 1 and a retry takes 5, for 10 s, in ten slices."""

    def test_100_retries_are_in_reserve(self) -> None:
        budget = RetryBudget.finagle()
        account = budget.open(0.0)
        assert budget.left == approximately(501)  # 10 a second, 10 s, 5 each; and 1 for the program
        assert [account.afford(NotReady(), 0.0) for _ in range(102)] == [True] * 100 + [False] * 2
        assert budget.left == approximately(1)

    def test_five_programs_allow_one_retry(self) -> None:
        budget = RetryBudget.finagle(min_retries_per_second=0)
        accounts = [budget.open(0.0) for _ in range(4)]
        assert not accounts[0].afford(NotReady(), 0.0)
        accounts.append(budget.open(0.0))
        assert accounts[0].afford(NotReady(), 0.0)
        assert budget.left == approximately(0)

    def test_what_was_given_and_taken_is_forgotten_after_ten_seconds(self) -> None:
        budget = RetryBudget.finagle(min_retries_per_second=1)
        account = budget.open(0.0)
        assert [account.afford(NotReady(), 0.0) for _ in range(11)] == [True] * 10 + [False]
        lefts = []
        for second in range(1, 12):
            account.close(None, float(second))
            lefts.append(budget.left)
        assert lefts == [approximately(1)] * 9 + [approximately(50)] * 2

    def test_a_slice_lasts_a_tenth_of_the_window(self) -> None:
        budget = RetryBudget.finagle(min_retries_per_second=0)
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
        budget = RetryBudget.finagle(min_retries_per_second=0)
        for now in (0.0, 1.9, 2.8, 10.9, 11.8):  # the second slice begins at 1.9, not at 1.0
            budget.open(now)
        assert budget.left == approximately(4)
        budget.open(11.9)
        assert budget.left == approximately(1 + 1 + 1)

    def test_what_was_taken_may_outlast_what_it_was_taken_from(self) -> None:
        budget = RetryBudget.finagle(min_retries_per_second=1)
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
        budget = RetryBudget.finagle(percent_can_retry=percent)
        assert budget.left == approximately(100 * cost)
        budget.open(0.0).afford(NotReady(), 0.0)
        assert budget.left == approximately(100 * cost + 1 - cost)

    def test_without_a_ratio_only_time_gives(self) -> None:
        budget = RetryBudget.finagle(ttl=2, min_retries_per_second=3, percent_can_retry=0)
        account = budget.open(0.0)
        assert [account.afford(NotReady(), 0.0) for _ in range(7)] == [True] * 6 + [False]
        assert budget.open(2.0).afford(NotReady(), 2.0)

    def test_a_clock_that_goes_back_stands_still(self) -> None:
        budget = RetryBudget.finagle(min_retries_per_second=0)
        for now in (50.0, 3.0, -7.0, 0.0, 50.5):
            budget.open(now)
        assert budget.left == approximately(5)

    def test_programs_ask_the_interpreter_for_the_time(self) -> None:
        budget = RetryBudget.finagle(ttl=1, min_retries_per_second=1)
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
