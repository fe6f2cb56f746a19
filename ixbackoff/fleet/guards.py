"""`Guards`: the budget, the deadline, the gates and the circuit breaker of a simulated client.

Their rules are those of `ixbackoff._limits`, asked here by plain calls on the clock of the
simulation. In a stream of commands `budgeted`, `limited`, `through` and `guarded` ask them; a law
in tests/fleet/test_guards.py compares the two, event by event.
"""

from __future__ import annotations

from math import inf
from typing import Any

from .._limits.breakers import CircuitBreaker
from .._limits.budgets import REFUSED, Account, RetryBudget
from .._limits.deadlines import NOT_AGAIN, Expired, Limit, late_wait
from .._limits.gate import Gate, checked_turn, heard, too_late
from .._running.traces import Performed
from .._words.reasons import Reason, add_note
from .._words.vocabulary import in_line


class Guards:
    """The guards of one client.

    Attributes:
        passes: the gates and breakers that each try passes through, outermost first.
        limit: the deadline of the current run; `None` without one.
        judges: whether the guards need each try, not only the end of the run.
        reason: why the guards have ended the run; `None` if they have not.
        refused: whether the budget or the deadline refused the last wait.
    """

    def __init__(
        self, budget: RetryBudget | None, within: float | None, passes: tuple[Any, ...]
    ) -> None:
        self.passes = passes
        self.limit: Limit | None = None
        self.judges = bool(passes) or within is not None or (budget is not None and budget.timed)
        self.reason: Reason | None = None
        self.refused = False
        self._budget = budget
        self._within = within
        untimed = budget is not None and not budget.timed
        self._account: Account | None = budget.open(0.0) if budget and untimed else None
        self._read = 0.0  # the time at which a budget with a clock was last used
        self._passed: list[Any] = []  # of each guard passed: the number of a probe, or the time
        self._turn: float | None = None  # of a try that stands in line
        self._came = self._stood = 0.0  # when it came to the gate, and began to stand in line

    @property
    def stands(self) -> bool:
        """True while a try stands in line."""
        return self._turn is not None

    def line(self, client: int) -> Performed:
        """Return the line of the trace for the last time in line."""
        seconds = 0.0 if self._turn is None else self._turn - self._stood
        return Performed(self._stood, in_line(seconds), None, None, client)

    def begin(self, now: float) -> None:
        """Begin a run."""
        budget = self._budget
        if budget is not None and budget.timed:
            self._read = now
            self._account = budget.open(now)
        if self._within is not None:
            self.limit = Limit(now, self._within, whole=True)

    def admit(self, now: float) -> float:
        """Return the time at which a try may begin, or has to be admitted again: its turn."""
        for guard in self.passes[len(self._passed) :]:
            if guard.__class__ is CircuitBreaker:
                self._passed.append(0 if guard.closed else guard.admit(now))
                continue
            turn = self._turn_at(guard, now)
            if turn > now:
                self._stood = now
                return turn
            self._turn = None
            self._passed.append(now)
        return now

    def _turn_at(self, gate: Gate, now: float) -> float:
        until = inf if self.limit is None else self.limit.deadline
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

    def leave(self, value: Any, failure: BaseException | None, now: float) -> BaseException | None:
        """Report the end of a try to its guards; return its failure, or that of a run in vain."""
        passed = self._passed
        while passed:
            began = passed.pop()
            guard = self.passes[len(passed)]
            try:
                (settled if guard.__class__ is CircuitBreaker else reported)(
                    guard, began, value, failure, now
                )
            except Exception as error:
                failure = error
        limit = self.limit
        if limit is None or not limit.over:
            return failure
        self.reason = "no time left"
        exceeded = limit.exceeded(failure)
        exceeded.__cause__ = limit.cause or (None if isinstance(failure, Expired) else failure)
        limit.cause = None
        return exceeded

    def refuse(self, failure: Any, seconds: float, now: float) -> bool:
        """Return whether there may be no wait after `failure`; if so, note on it why not."""
        limit, account, budget = self.limit, self._account, self._budget
        late = "" if limit is None else late_wait(seconds, limit.deadline - now, limit.seconds)
        if late:
            self.reason = "no time left"
            add_note(failure, f"{NOT_AGAIN} {late}")
        elif account is not None and budget is not None:
            if budget.timed:
                self._read = now
            if not account.afford(failure, self._read):
                self.reason = "budget empty"
                add_note(failure, REFUSED)
        self.refused = self.reason is not None
        return self.refused

    def close(self, failure: BaseException | None) -> None:
        """End a run."""
        self.reason, self.refused = None, False
        if self._account is not None:
            self._account.close(failure, self._read)

    def drop(self, now: float) -> None:
        """Forget a try at the end of the simulation."""
        if self._turn is not None:
            self.passes[len(self._passed)].leave(now)
        for guard, began in zip(self.passes, self._passed, strict=False):
            if guard.__class__ is not CircuitBreaker:
                guard.leave(began)
            elif began:
                guard.release(began)


def settled(
    breaker: CircuitBreaker, probe: int, _: Any, failure: BaseException | None, now: float
) -> None:
    """Report the end of a try to `breaker`, as `guarded` does."""
    blamed = False if failure is None else breaker.blames(failure)
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
