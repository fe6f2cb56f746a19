"""`ProgramClient`: performs any program, step by step."""

from __future__ import annotations

from math import inf
from typing import Any

from .._limits.budgets import REFUSED, Account
from .._limits.deadlines import Expired, Limit, check_wait
from .._meaning.chains import Ladder
from .._meaning.defaults import Defaults
from .._meaning.machine import Enter
from .._meaning.runs import ProgramRun
from .._meaning.semantics import chained, guards_of, limited
from .._running.traces import Performed
from .._words.commands import Misuse
from .._words.reasons import add_note
from ..schedules.timings import Timing
from .environment import Done, Environment, Inside
from .performers import ROOM, TaskPerformer


class ProgramClient(TaskPerformer):
    """A client of any program; those of `at(rung).retry(effect)` have a shorter path."""

    _account: Account | None = None
    _read = 0.0  # the time at which a budget with a clock was last used

    def __init__(
        self,
        environment: Environment,
        number: int,
        program: Ladder,
        how: Defaults,
        timing: Timing,
        done: Done,
    ) -> None:
        super().__init__(environment, number)
        self._program = program
        self._how = how
        self._timing = timing
        self._done = done

    def begin(self) -> None:
        how, events = self._how, self._environment.events
        run = self._run = ProgramRun(self._program, self._timing, events.random)
        run.guards = guards_of(how)
        # The first limit has no end. It is for streams inside, such as that of a resumed attempt,
        # which apply their own limits: `seconds_left` is asked for each command.
        run.limits.append(Limit(0.0, inf, whole=False))
        self._inside = run._inside = Inside(run.limits)
        self.begun = events.now
        if how.budget is not None:
            self._read = events.now if how.budget.timed else 0.0
            self._account = how.budget.open(self._read)
        self._task, self.room = chained(self._program, run), ROOM
        within: Any = how.within
        if within is not None:
            self._task = limited(Enter(self._task), within, run)
        self.resume(None)

    def ended(self, value: Any, failure: BaseException | None) -> None:
        run = self._run
        try:
            value, failure = run.ended(value, failure), None
        except BaseException as error:
            failure = error
        run.wait = run.not_waited = run.unchosen = run.expired = None
        if self._account is not None:
            self._account.close(failure, self._read)
        if isinstance(failure, Misuse):
            raise failure
        self._done(self, value, failure)

    def expire(self, error: Expired) -> None:
        super().expire(error)
        self._run.expire(error)

    def wait(self, wait: Any) -> None:
        current: Any = self._run.wait
        if wait is not current:
            super().wait(wait)
            return
        environment = self._environment
        events = environment.events
        try:
            self._check(wait, events.now)
        except BaseException as error:
            self.resume(None, error)
            return
        start = self.begun if environment.from_start else events.now
        traced = environment.trace is not None
        line = Performed(events.now, wait, None, None, self.number) if traced else None
        self._waits_for = line
        when = max(events.now, start + wait.seconds)
        events.at(when, ProgramClient._wake, self)

    def _check(self, wait: Any, now: float) -> None:
        """Raise the failure of a wait that the deadline or the budget refuses."""
        account, budget = self._account, self._how.budget
        if len(self._inside.limits) > 1:
            limit = self._inside.limits[1]
            if limit.over:
                error = limit.expire()
                self.expire(error)
                raise error
            limit.ending = False  # a program that waits has ended its cleanup
            check_wait(wait, limit.deadline - now, limit.seconds)
        if account is None or budget is None or wait.failure is None:
            return
        if budget.timed:
            self._read = now
        if not account.afford(wait.failure, self._read):
            add_note(wait.failure, REFUSED)
            wait.refuse("budget empty")
            raise wait.failure

    def _wake(self) -> None:
        trace, waited = self._environment.trace, self._waits_for
        if trace is not None and isinstance(waited, Performed):
            trace.append(waited)
        self.begun = self._environment.events.now
        self.resume(None)
