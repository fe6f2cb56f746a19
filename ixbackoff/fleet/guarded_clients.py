"""`GuardedClient`: a client with a budget, a deadline, gates or circuit breakers.

Their rules are those of `ixbackoff._limits`, asked here by plain calls on the clock of the
simulation. In a stream of commands `budgeted`, `limited`, `guarded` and `through` ask them; a law
in tests/fleet/test_guards.py compares the two, event by event.
"""

from __future__ import annotations

from math import inf
from typing import Any

from .._limits.breakers import CircuitBreaker
from .._limits.budgets import REFUSED, RetryBudget
from .._limits.deadlines import NOT_AGAIN, Expired, Limit, late_wait
from .._limits.gate import Gate, checked_turn, heard, too_late
from .._running.traces import Performed
from .._words.vocabulary import in_line
from .environment import Inside
from .retries import Retrying
from .retry_clients import RetryClient


class GuardedClient(RetryClient):
    """A client that retries an effect, each try through `guards`, the outermost first."""

    def __init__(
        self,
        shared: Retrying,
        number: int,
        budget: RetryBudget | None,
        within: float | None,
        guards: tuple[Any, ...],
    ) -> None:
        super().__init__(shared, number)
        self._timed = budget if budget is not None and budget.timed else None
        self._account = None if budget is None or budget.timed else budget.open(0.0)
        self._read = 0.0  # when a budget with a clock was last used
        self._within = within
        self._limit: Limit | None = None  # of the current run
        self._guards = guards
        # For each guard that the try has passed: the number of a probe, or 0; the time at a gate.
        self._passed: tuple[float, ...] = ()
        self._line: tuple[float, float, float] | None = None  # turn, arrival, the time of both
        self.refusal = None

    def begin(self) -> None:
        shared = self._shared
        self.begun = now = shared.events.now
        if self._after is None:  # a run begins
            self.refusal = None
            if self._within is not None:
                self._limit = Limit(now, self._within, whole=True)
            if self._timed is not None:
                self._account, self._read = self._timed.open(now), now
        if self._log is not None:
            self._log.end_wait()
        if self._limit is not None or shared.serving is None:
            self._inside = Inside([] if self._limit is None else [self._limit])
            self._inside.passed = self._guards
        self.enter()

    def enter(self) -> None:
        """Pass the guards that the try has not passed yet."""
        now, line, trace = self._shared.events.now, self._line, self._shared.trace
        if line is not None and trace is not None:
            turn, _, begun = line
            trace.append(Performed(begun, in_line(turn - begun), None, None, self.number))
        try:
            for guard in self._guards[len(self._passed) :]:
                if guard.__class__ is CircuitBreaker:
                    self._passed += (0 if guard.closed else guard.admit(now),)
                elif self._stands(guard, now):
                    return
        except Exception as refusal:
            self.ended(None, refusal)
        else:
            self.perform()

    def _stands(self, gate: Gate, now: float) -> bool:
        """Ask `gate`; return whether the try has to stand in line for its turn."""
        until = inf if self._limit is None else self._limit.deadline
        if self._line is None:
            came, turn = now, gate.enter(now, now, until)
        else:
            turn, came, _ = self._line
            self._line = turn, came, now
            turn = gate.turn(turn, now, came, until)
        self._line = turn, came, now
        if turn == now or checked_turn(gate, turn) <= now:
            self._passed += (now,)
            self._line = None
            return False
        if turn >= until:  # a gate may ignore `until`
            raise too_late(turn, now, until)
        self._shared.events.after(turn - now, self.__class__.enter, self)
        return True

    def ended(self, value: Any, failure: BaseException | None) -> None:
        limit, index, now = self._limit, len(self._passed), self._shared.events.now
        self._leave_line()
        while index:
            index -= 1
            guard, passed = self._guards[index], self._passed[index]
            try:
                if guard.__class__ is not CircuitBreaker:
                    hear(guard, passed, value, failure, now)
                elif failure is not None or passed or guard.rated:
                    settle(guard, int(passed), failure, now)
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

    def _leave_line(self) -> None:
        line, self._line = self._line, None
        if line is not None:
            self._guards[len(self._passed)].leave(line[2])

    def close(self) -> None:
        super().close()
        self._leave_line()
        for guard, passed in [*zip(self._guards, self._passed, strict=False)][::-1]:
            if guard.__class__ is not CircuitBreaker:
                guard.leave(passed)
            elif passed:
                guard.release(passed)


def settle(breaker: CircuitBreaker, probe: int, failure: BaseException | None, now: float) -> None:
    """Report the end of a try to `breaker`, as `guarded` does."""
    blamed = failure is not None and breaker.blames(failure)
    if blamed:
        breaker.fail(probe, now)
    elif blamed is False and breaker.rated:
        breaker.count(False, now)
    if probe:
        (breaker.succeed if blamed is False else breaker.release)(probe)


def hear(gate: Gate, began: float, value: Any, failure: BaseException | None, now: float) -> None:
    """Report the end of a try to `gate`, as `through` does."""
    try:
        if failure is None:
            gate.answer(value)
    except Exception as error:
        failure = error
        raise
    finally:
        outcome = None if failure is None else heard(failure)
        if outcome is not None:
            gate.hear(outcome, now, began)
        elif failure is None:
            gate.hear(None, now if gate.timed else began, began)
        else:
            gate.leave(began)
