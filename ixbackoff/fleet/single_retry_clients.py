"""`RetryClient`: a client of the commonest programs, those that retry one effect.

The rules of budgets, deadlines, gates and breakers are those of `ixbackoff._limits`. A
`RetryClient` applies them by plain calls, on the clock of the simulation. `budgeted`, `limited`,
`guarded` and `through` apply them to a stream of commands. tests/fleet/test_guards.py compares the
two ways, event by event.
"""

from __future__ import annotations

from math import inf
from typing import Any

from .._limits.breakers import CircuitBreaker
from .._limits.budgets import REFUSED, RetryBudget
from .._limits.deadlines import LATE_WAIT, NOT_AGAIN, Expired, Limit
from .._limits.gate_base import Gate, checked_turn, heard, too_late
from .._meaning.run_state import InAttempt
from .._running.traces import Performed
from .._words.commands import Misuse
from .._words.failure_classes import Predicate
from .._words.standard_commands import in_line
from ..schedules.base import After
from .single_retry_settings import Refusal, Retrying
from .task_performers import NOT_YET, ROOM, TaskPerformer


class RetryClient(TaskPerformer):
    """A client that retries an effect, each try through `guards`, the outermost first."""

    __slots__ = (
        *("_account", "_after", "_bounded", "_guards", "_limit", "_line", "_log", "_passed"),
        *("_read", "_refusal", "_shared", "_shortest", "_timed", "_wait_count"),
    )

    def __init__(
        self, shared: Retrying, number: int, budget: RetryBudget | None, guards: tuple[Any, ...]
    ) -> None:
        super().__init__(shared.environment, number, shared.done)
        self._shared = shared
        self._after: After | None = None  # the waits of this run; `None` until its first failure
        self._wait_count = 0  # the number of waits of this run
        self._shortest = 0.0  # the seconds of the last wait: the next one is not shorter
        self._log = shared.log()  # the waits of this run for the trace; `None` without a trace
        self._refusal: Refusal | None = None
        self._timed = budget if budget is not None and budget.timed else None
        self._account = None if budget is None or budget.timed else budget.open(0.0)
        self._read = 0.0  # when the budget was last used
        self._bounded = bool(guards) or shared.within is not None or self._timed is not None
        self._limit: Limit | None = None  # of the current run
        self._guards = guards
        # The guards that the try passed: a gate with the time, a breaker with its probe (0: none).
        self._passed: tuple[tuple[Any, float], ...] = ()
        # The times of a try in line: of its turn, of its arrival, and when its gate was last asked.
        self._line: tuple[float, float, float] | None = None

    def begin(self) -> None:
        shared = self._shared
        now = shared.events.now
        if self._line is None:  # else a try that stood in line continues
            self.begun = now
            if self._log is not None:
                self._log.end_wait()
        if self._bounded and not self._enter(now):
            return
        if shared.serving is not None:
            self.request(shared.command, shared.serving, shared.limit)
            return
        self.room = ROOM
        try:
            if shared.function is not None:
                self._task = shared.function()
            else:
                if self._inside is NOT_YET:
                    self._inside = InAttempt([])
                self._task = shared.perform(shared.effect, self._inside)
        except Exception as error:  # such as a wrong number of arguments
            self.ended(None, error)
        else:
            self.resume(None)

    def _enter(self, now: float) -> bool:
        """Pass the guards that the try has not passed yet; return whether it passed them all."""
        shared, left = self._shared, self._guards
        if self._line is not None:
            left = left[len(self._passed) :]
            if self._environment.trace is not None:
                turn, _, begun = self._line
                wait = in_line(turn - begun)
                self._environment.trace.append(Performed(begun, wait, None, None, self.number))
        elif self._after is None:  # a run begins
            if shared.within is not None:
                self._limit = Limit(now, shared.within, whole=True)
            if self._timed is not None:
                self._account, self._read = self._timed.open(now), now
        try:
            for guard in left:
                if type(guard) is CircuitBreaker:
                    self._passed += ((guard, 0 if guard._until is None else guard.admit(now)),)
                elif self._stands(guard, now):
                    return False
        except Exception as refusal:
            self.ended(None, refusal)
            return False
        if self._limit is not None or shared.serving is None:
            self._inside = InAttempt([] if self._limit is None else [self._limit])
            self._inside.passed = self._guards
        return True

    def _stands(self, gate: Gate, now: float) -> bool:
        """Ask `gate`; return whether the try has to stand in line for its turn."""
        until = inf if self._limit is None else self._limit.deadline
        if self._line is None:
            came, turn = now, gate.enter(now, now, until)
        else:
            turn, came, _ = self._line
            self._line = turn, came, now
            turn = gate.turn(turn, now, came, until)
        if turn != now:
            self._line = turn, came, now
            later = type(turn) is float and now < turn < inf
            if later or checked_turn(gate, turn) > now:
                if turn >= until:  # a gate may ignore `until`
                    raise too_late(turn, now, until)
                self._shared.events.after(turn - now, BEGIN, self)
                return True
        self._passed += ((gate, now),)
        self._line = None
        return False

    def ended(self, value: Any, failure: BaseException | None) -> None:
        """End a try: plan the next one after a wait, or end the run."""
        shared, log = self._shared, self._log
        if self._bounded:
            failure = self._leave(value, failure)
        chosen: Predicate | None = None
        if failure is not None:
            failure.__traceback__ = None  # its frames refer to the client: a reference cycle
            if isinstance(failure, Misuse):
                raise failure
            try:
                seconds = self._next_wait(failure)
            except Exception as error:
                failure = error
                failure.__traceback__ = None
            else:
                if seconds is not None:
                    events = shared.events
                    self._wait_count += 1
                    self._shortest = seconds
                    if log is not None:
                        log.begin_wait(self.number, events.now, seconds, failure)
                    if shared.from_start:
                        when = max(events.now, self.begun + seconds)
                        events.at(when, BEGIN, self)
                    else:
                        events.after(seconds, BEGIN, self)
                    return
                chosen = shared.chosen
        if self._account is not None:
            self._account.close(failure, self._read)
        if log is not None:
            log.end(failure, chosen, self._refusal)
            self._log = shared.log()
        self._after, self._wait_count, self._shortest, self._refusal = None, 0, 0.0, None
        self.done(self, value, failure)

    def _next_wait(self, failure: Any) -> float | None:
        if self._refusal is not None:
            return None
        if self._after is None:
            self._after = self._shared.descent()
        seconds = self._after(failure, self._wait_count, self._shortest)
        limit, account = self._limit, self._account
        if seconds is None or (limit is None and account is None):
            return seconds
        now = self._shared.events.now
        if limit is not None and seconds >= limit.deadline - now:
            self._refusal = (
                "no time left",
                f"{NOT_AGAIN} {LATE_WAIT.format(seconds, limit.seconds)}",
            )
            return None
        if account is not None:
            self._read = now
            if not account.afford(failure, now):
                self._refusal = "budget empty", REFUSED
                return None
        return seconds

    def _leave(self, value: Any, failure: BaseException | None) -> BaseException | None:
        """Report the end of a try to its guards and its limit; return the failure, if any."""
        if self._line is not None:
            self._guards[len(self._passed)].leave(self._line[2])
            self._line = None
        for guard, passed in reversed(self._passed):
            try:
                if type(guard) is not CircuitBreaker:
                    failure = hear(guard, passed, value, failure, self._shared.events.now)
                elif failure is not None or passed or guard._rate is not None:
                    settle(guard, int(passed), failure, self._shared.events.now)
            except Exception as error:
                failure = error
        self._passed = ()
        limit = self._limit
        if limit is not None and limit.over:
            self._refusal = "no time left", ""
            cause = limit.cause or (None if isinstance(failure, Expired) else failure)
            failure, limit.cause = limit.exceeded(failure), None
            failure.__cause__ = cause
        return failure

    def close(self) -> None:
        super().close()
        if self._line is not None:
            self._guards[len(self._passed)].leave(self._line[2])
        for guard, passed in reversed(self._passed):
            if type(guard) is not CircuitBreaker:
                guard.leave(passed)
            elif passed:
                guard.release(int(passed))


BEGIN = RetryClient.begin  # the look-up in a class takes longer


def settle(breaker: CircuitBreaker, probe: int, failure: BaseException | None, now: float) -> None:
    """Report the end of a try to `breaker`, as `guarded` does."""
    blamed = failure is not None and breaker.blames(failure)
    if blamed:
        breaker.fail(probe, now)
    elif blamed is False and breaker.rated:
        breaker.count(False, now)
    if probe:
        (breaker.succeed if blamed is False else breaker.release)(probe)


def hear(gate: Gate, began: float, value: Any, failure: Any, now: float) -> Any:
    """Report the end of a try to `gate`, as `through` does; return the failure, if any."""
    try:
        if failure is None:
            gate.answer(value)
    except Exception as error:
        failure = error
    outcome = None if failure is None else heard(failure)
    if outcome is not None:
        gate.hear(outcome, now, began)
    elif failure is None:
        gate.hear(None, now if gate.timed else began, began)
    else:
        gate.leave(began)
    return failure
