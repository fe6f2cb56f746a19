"""`GuardedClient`: a client with a budget, a deadline, gates or circuit breakers.

Their rules are those of `ixbackoff._limits`, asked here by plain calls on the clock of the
simulation. In a stream of commands `budgeted`, `limited`, `through` and `guarded` ask them; a law
in tests/fleet/test_guards.py compares the two, event by event.
"""

from __future__ import annotations

from math import inf
from typing import Any

from .._limits.breakers import CircuitBreaker
from .._limits.budgets import REFUSED, RetryBudget
from .._limits.deadlines import NOT_AGAIN, Expired, Limit, late_wait
from .._limits.gate import Gate, checked_turn, heard, too_late
from .._meaning.steps import Guard
from .._running.traces import Performed
from .._words.vocabulary import in_line
from .environment import Inside
from .retries import Retrying
from .retry_clients import RetryClient

CLOSED = (0,)
"""The number of a try that is not a probe."""


class GuardedClient(RetryClient):
    """A client that retries an effect; each try passes through `passes`, the outermost first."""

    def __init__(
        self,
        shared: Retrying,
        number: int,
        budget: RetryBudget | None,
        within: float | None,
        passes: tuple[Guard, ...],
    ) -> None:
        super().__init__(shared, number)
        self._timed = budget if budget is not None and budget.timed else None
        self._account = None if budget is None or budget.timed else budget.open(0.0)
        self._within = within
        self._limit: Limit | None = None  # of the current run
        self._passes: tuple[Any, ...] = passes
        self._passed: tuple[Any, ...] = ()  # for each guard: the number of a probe, or the time
        self._turn: float | None = None  # of a try that stands in line
        self._came = self._stood = 0.0  # when it came to the gate, and began to stand in line
        self._since = 0.0  # when it began
        self.refusal = None

    def begin(self) -> None:
        shared = self._shared
        now = shared.events.now
        if self._turn is None:
            if self._log is not None:
                self._log.end_wait()
            self._since = now
            if self._after is None:  # a run begins
                self.refusal = None
                if self._within is not None:
                    self._limit = Limit(now, self._within, whole=True)
                if self._timed is not None:
                    self._account = self._timed.open(now)
        elif shared.trace is not None:
            line = in_line(self._turn - self._stood)
            shared.trace.append(Performed(self._stood, line, None, None, self.number))
        if self._passes:
            try:
                turn = self._admitted(now)
            except Exception as refusal:
                self.ended(None, refusal)
                return
            if turn > now:
                self._stood = now
                shared.events.after(turn - now, GuardedClient.begin, self)
                return
        if self._limit is not None or shared.serving is None:
            self._inside = Inside([] if self._limit is None else [self._limit])
            self._inside.passed = self._passes
        RetryClient.begin(self)

    def _admitted(self, now: float) -> float:
        """Return the time at which a try may begin, or has to be admitted again: its turn."""
        for guard in self._passes[len(self._passed) :]:
            if guard.__class__ is CircuitBreaker:
                self._passed += CLOSED if guard.closed else (guard.admit(now),)
                continue
            turn = self._turn_at(guard, now)
            if turn > now:
                return turn
            self._turn = None
            self._passed += (now,)
        return now

    def _turn_at(self, gate: Gate, now: float) -> float:
        until = inf if self._limit is None else self._limit.deadline
        turn = self._turn
        try:
            if turn is None:
                self._came = now
                turn = gate.enter(now, now, until)
            else:
                turn = gate.turn(turn, now, self._came, until)
            self._turn = checked_turn(gate, turn)
            if until <= turn > now:  # a gate may ignore `until`
                raise too_late(turn, now, until)
        except Exception:
            if turn is not None:
                gate.leave(now)
            self._turn = None
            raise
        return turn

    def ended(self, value: Any, failure: BaseException | None) -> None:
        limit = self._limit
        if self._passed:
            passed, self._passed = self._passed, ()
            index = len(passed)
            while index:
                index -= 1
                guard = self._passes[index]
                report: Any = settled if guard.__class__ is CircuitBreaker else reported
                try:
                    report(guard, passed[index], value, failure, self._shared.events.now)
                except Exception as error:
                    failure = error
        if limit is not None and limit.over:
            self.refusal = "no time left", ""
            cause = limit.cause or (None if isinstance(failure, Expired) else failure)
            failure, limit.cause = limit.exceeded(failure), None
            failure.__cause__ = cause
        self.begun = self._since
        RetryClient.ended(self, value, failure)

    def next_wait(self, failure: Any) -> float | None:
        seconds = None if self.refusal is not None else super().next_wait(failure)
        if seconds is None:
            return None
        limit, now = self._limit, self._shared.events.now
        late = "" if limit is None else late_wait(seconds, limit.deadline - now, limit.seconds)
        if late:
            self.refusal = "no time left", f"{NOT_AGAIN} {late}"
        elif self._account is not None and not self._account.afford(failure, now):
            self.refusal = "budget empty", REFUSED
        return seconds if self.refusal is None else None

    def close_account(self, failure: BaseException | None) -> None:
        """Count the end of a run in its budget."""
        if self._account is not None:
            self._account.close(failure)

    def close(self) -> None:
        super().close()
        if self._turn is not None:
            self._passes[len(self._passed)].leave(self._shared.events.now)
        for guard, began in zip(self._passes, self._passed, strict=False):
            if guard.__class__ is not CircuitBreaker:
                guard.leave(began)
            elif began:
                guard.release(began)


def settled(
    breaker: CircuitBreaker, probe: int, _: Any, failure: BaseException | None, now: float
) -> None:
    """Report the end of a try to `breaker`, as `guarded` does."""
    blamed = failure is not None and breaker.blames(failure)
    if blamed:
        breaker.fail(probe, now)
    elif blamed is False and breaker.rated:
        breaker.count(False, now)
    if probe:
        (breaker.succeed if blamed is False else breaker.release)(probe)


def reported(
    gate: Gate, began: float, value: Any, failure: BaseException | None, now: float
) -> None:
    """Report the end of a try to `gate`, as `through` does."""
    if failure is None:
        try:
            gate.answer(value)
        except Exception as error:
            reported(gate, began, None, error, now)
            raise
        gate.hear(None, now if gate.timed else began, began)
    elif (outcome := heard(failure)) is not None:
        gate.hear(outcome, now, began)
    else:
        gate.leave(began)
