"""`budgeted` passes everything on, and closes its account once, however the stream ends."""

from __future__ import annotations

import asyncio

import pytest

from ixbackoff import N1, N3, Delay, NotReady, Now, RetryBudget, ServerError, at, unroll
from ixbackoff._limits.budgets import Account, budgeted
from ixbackoff._running.command_loops import answered

from ..support.ways.budgets import ASK, approximately
from ..support.ways.programs import Ask


class Closing:
    """A record of the outcomes with which accounts are closed."""

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
        stream = budgeted(unroll(at(N1).retry(ASK)), RetryBudget(1))
        assert stream.send(None) == ASK
        assert isinstance(stream.throw(NotReady()), Delay)
        assert stream.send(None) == ASK
        with pytest.raises(StopIteration) as end:
            stream.send(5)
        assert end.value.value == 5
        assert closing.seen == [None]

    def test_a_failure(self, closing: Closing) -> None:
        failure = KeyError("k")
        stream = budgeted(unroll(at(N1).retry(ASK)), RetryBudget(1))
        next(stream)
        with pytest.raises(KeyError):
            stream.throw(failure)
        assert closing.seen == [failure]

    def test_a_refusal(self, closing: Closing) -> None:
        budget, failure = RetryBudget(1), NotReady()
        budget.open(0.0).afford(failure, 0.0)
        stream = budgeted(unroll(at(N1).retry(ASK)), budget)
        next(stream)
        with pytest.raises(NotReady):
            stream.throw(failure)
        assert closing.seen == [failure]

    @pytest.mark.parametrize("waiting", [False, True])
    @pytest.mark.parametrize(
        "budget", [RetryBudget(5), RetryBudget.grpc(), RetryBudget.botocore()], ids=repr
    )
    def test_a_cancellation_gives_nothing_back_and_takes_nothing_more(
        self, budget: RetryBudget, waiting: bool, closing: Closing
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
        stream = budgeted(unroll(at(N3).retry(ASK)), RetryBudget(5))
        next(stream)
        stream.close()
        dropped = budgeted(unroll(at(N3).retry(ASK)), RetryBudget(5))
        next(dropped)
        del dropped
        assert [type(failure) for failure in closing.seen] == [GeneratorExit] * 2

    def test_a_wait_that_fails_is_paid_for_and_is_no_other_failed_try(
        self, closing: Closing
    ) -> None:
        budget, failure = RetryBudget.grpc(), ServerError(503)
        stream = budgeted(unroll(at(N3).retry(ASK)), budget)
        next(stream)
        stream.throw(failure)
        with pytest.raises(TimeoutError):
            stream.throw(TimeoutError("the clock stopped"))
        assert budget.left == approximately(9)
        assert len(closing.seen) == 1

    def test_without_a_clock_nothing_begins(self) -> None:
        stream = budgeted(unroll(at(N3).retry(ASK)), RetryBudget.finagle())
        with pytest.raises(TypeError, match="No handler for Now"):
            answered(stream, {Ask: lambda _: pytest.fail("begun")})

    def test_a_clock_that_fails_ends_the_program(self, closing: Closing) -> None:
        stream = budgeted(unroll(at(N3).retry(ASK)), RetryBudget.finagle())
        assert next(stream) == Now()
        assert stream.send(0.0) == ASK
        assert stream.throw(NotReady()) == Now()
        with pytest.raises(ZeroDivisionError):
            stream.throw(ZeroDivisionError())
        assert len(closing.seen) == 1

    def test_a_clock_that_tells_no_time_ends_the_program(self, closing: Closing) -> None:
        budget = RetryBudget.finagle()
        stream = budgeted(unroll(at(N3).retry(ASK)), budget)
        next(stream)
        stream.send(0.0)
        stream.throw(NotReady())
        with pytest.raises(ValueError, match="NaN"):
            stream.send(float("nan"))
        assert len(closing.seen) == 1
        assert budget.left == approximately(501)
