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
        judges: whether the guards need the end of each try, not only that of the run.
        reason: why the guards have ended the run; `None` if they have not.
        refused: whether the budget or the deadline refused the last wait.
    """

    limit: Limit | None = None
    reason: Reason | None = None
    refused = False
    _account: Account | None = None
    _read = 0.0  # the time at which a budget with a clock was last used
    _turn: float | None = None  # of a try that stands in line
    _came = 0.0  # the time at which it came to the gate
    _line: Performed | None = None

    def __init__(
        self, budget: RetryBudget | None, within: float | None, passes: tuple[Any, ...]
    ) -> None:
        self._budget = budget
        self._within = within
        self.passes = passes
        self.judges = bool(passes) or within is not None
        self._passed: list[Any] = []  # of each guard passed: the number of a probe, or the time

    def admit(self, client: Any) -> bool:
        """Return whether a try begins now; if not, it stands in line, or was refused and ended."""
        shared = client.shared
        now = shared.events.now
        if self._turn is None:
            if client.log is not None:
                client.log.end_wait()
            client.begun = now
            if client.after is None:
                self._open(now)
        elif self._line is not None and shared.trace is not None:
            shared.trace.append(self._line)
        try:
            for guard in self.passes[len(self._passed) :]:
                if guard.__class__ is CircuitBreaker:
                    self._passed.append(0 if guard.closed else guard.admit(now))
                elif self._turn_at(guard, now) > now:
                    line = in_line(self._turn - now)
                    self._line = Performed(now, line, None, None, client.number)
                    shared.events.after(line.seconds, client.__class__.begin, client)
                    return False
                else:
                    self._turn = None
                    self._passed.append(now)
        except Exception as refusal:
            shared.end_try(client, None, refusal)
            return False
        return True

    def _open(self, now: float) -> None:
        """Begin a run."""
        budget = self._budget
        self.reason, self.refused = None, False
        if budget is not None:
            self._read = now if budget.timed else 0.0
            self._account = budget.open(self._read)
        if self._within is not None:
            self.limit = Limit(now, self._within, whole=True)

    def _turn_at(self, gate: Gate, now: float) -> float:
        until = inf if self.limit is None else self.limit.deadline
        before = self._turn
        try:
            if before is None:
                self._came = now
                before = gate.enter(now, now, until)
            else:
                before = gate.turn(before, now, self._came, until)
            self._turn = turn = checked_turn(gate, before)
            if turn > now and turn >= until:  # a gate may ignore `until`
                raise too_late(turn, now, until)
        except Exception:
            if before is not None:
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
