"""`GuardedClient`: a client with a budget, a deadline or circuit breakers.

Their rules are those of `ixbackoff._limits`, asked here by plain calls on the clock of the
simulation. In a stream of commands `budgeted`, `limited` and `guarded` ask them; a law in
tests/fleet/test_guards.py compares the two, event by event.
"""

from __future__ import annotations

from typing import Any

from .._limits.breakers import CircuitBreaker
from .._limits.budgets import REFUSED, RetryBudget
from .._limits.deadlines import NOT_AGAIN, Expired, Limit, late_wait
from .environment import Inside
from .retries import Retrying
from .retry_clients import RetryClient

CLOSED = (0,)
"""The number of a try that is not a probe."""


class GuardedClient(RetryClient):
    """A client that retries an effect, each try through `breakers`, the outermost first."""

    def __init__(
        self,
        shared: Retrying,
        number: int,
        budget: RetryBudget | None,
        within: float | None,
        breakers: tuple[CircuitBreaker, ...],
    ) -> None:
        super().__init__(shared, number)
        self._timed = budget if budget is not None and budget.timed else None
        self._account = None if budget is None or budget.timed else budget.open(0.0)
        self._read = 0.0  # when a budget with a clock was last used
        self._within = within
        self._limit: Limit | None = None  # of the current run
        self._breakers = breakers
        self._passed: tuple[int, ...] = ()  # for each breaker: the number of a probe, or 0
        self.refusal = None

    def begin(self) -> None:
        shared = self._shared
        now = shared.events.now
        if self._after is None:  # a run begins
            self.refusal = None
            if self._within is not None:
                self._limit = Limit(now, self._within, whole=True)
            if self._timed is not None:
                self._account, self._read = self._timed.open(now), now
        if self._breakers:
            try:
                for breaker in self._breakers:
                    self._passed += CLOSED if breaker.closed else (breaker.admit(now),)
            except Exception as refusal:
                if self._log is not None:
                    self._log.end_wait()
                self.begun = now
                self.ended(None, refusal)
                return
        if self._limit is not None or shared.serving is None:
            self._inside = Inside([] if self._limit is None else [self._limit])
            self._inside.passed = self._breakers
        RetryClient.begin(self)

    def ended(self, value: Any, failure: BaseException | None) -> None:
        limit, index, now = self._limit, len(self._passed), self._shared.events.now
        while index:
            index -= 1
            try:
                settled(self._breakers[index], self._passed[index], failure, now)
            except Exception as error:
                failure = error
        self._passed = ()
        if limit is not None and limit.over:
            self.refusal = "no time left", ""
            cause = limit.cause or (None if isinstance(failure, Expired) else failure)
            failure, limit.cause = limit.exceeded(failure), None
            failure.__cause__ = cause
        RetryClient.ended(self, value, failure)

    def next_wait(self, failure: Any) -> float | None:
        seconds = None if self.refusal is not None else super().next_wait(failure)
        if seconds is None:
            return None
        limit, now = self._limit, self._shared.events.now
        late = "" if limit is None else late_wait(seconds, limit.deadline - now, limit.seconds)
        if late:
            self.refusal = "no time left", f"{NOT_AGAIN} {late}"
        elif self._account is not None:
            self._read = now if self._timed is not None else 0.0
            if not self._account.afford(failure, self._read):
                self.refusal = "budget empty", REFUSED
        return seconds if self.refusal is None else None

    def close_account(self, failure: BaseException | None) -> None:
        """Count the end of a run in its budget."""
        if self._account is not None:
            self._account.close(failure, self._read)

    def close(self) -> None:
        super().close()
        for breaker, probe in zip(self._breakers, self._passed, strict=False):
            if probe:
                breaker.release(probe)


def settled(breaker: CircuitBreaker, probe: int, failure: BaseException | None, now: float) -> None:
    """Report the end of a try to `breaker`, as `guarded` does."""
    blamed = failure is not None and breaker.blames(failure)
    if blamed:
        breaker.fail(probe, now)
    elif blamed is False and breaker.rated:
        breaker.count(False, now)
    if probe:
        (breaker.succeed if blamed is False else breaker.release)(probe)
