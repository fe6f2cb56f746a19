"""`RetryClient`: a client of the commonest programs, those that retry one effect."""

from __future__ import annotations

from typing import Any

from .._words.commands import Misuse
from .._words.failures import Predicate
from ..schedules.timings import After
from .guards import Guards
from .performers import ASKING, NOT_YET, TaskPerformer
from .retries import Retrying, task_of
from .services.service import Request


class RetryClient(TaskPerformer):
    """A client that retries a command or an attempt, without a stream of commands."""

    def __init__(self, shared: Retrying, number: int, guards: Guards | None) -> None:
        super().__init__(shared.environment, number)
        self._shared = shared
        self._guards = guards
        self._after: After | None = None  # the waits of this run; `None` until its first failure
        self._wait_count = 0  # the number of waits of this run
        self._shortest = 0.0  # the seconds of the last wait: the next one is not shorter
        self._log = shared.log()  # the waits of this run for the trace; `None` without a trace

    def begin(self) -> None:
        shared, guards = self._shared, self._guards
        now = shared.events.now
        if guards is None or not guards.judges:
            if self._log is not None:
                self._log.end_wait()
            self.begun = now
        elif not self._admitted(guards, now):
            return
        if shared.serving is not None:
            if self._inside is not NOT_YET or shared.limit is not None:
                self.request(shared.command, shared.serving, shared.limit)
                return
            shared.tally.asked += 1  # as `request`, in place
            self._arrived = ASKING
            shared.ask(Request(shared.command, self.number, now, None, self))
            arrived, self._arrived = self._arrived, None
            if arrived is not ASKING:
                self.ended(*arrived)
            return
        try:
            if shared.function is not None:
                self._task = shared.function()
            else:
                if self._inside is NOT_YET:
                    self._inside = shared.environment.inside()
                self._task = task_of(shared.attempt, self._inside)
        except Exception as error:  # such as a wrong number of arguments
            self.ended(None, error)
        else:
            self.resume(None)

    def _admitted(self, guards: Guards, now: float) -> bool:
        """Return whether a try begins now; if not, it stands in line, or was refused and ended."""
        shared = self._shared
        if not guards.stands:
            if self._log is not None:
                self._log.end_wait()
            self.begun = now
            if self._after is None:
                guards.begin(now)
        elif shared.trace is not None:
            shared.trace.append(guards.line(self.number))
        try:
            turn = guards.admit(now)
        except Exception as refusal:
            self.ended(None, refusal)
            return False
        if turn > now:
            shared.events.after(turn - now, RetryClient.begin, self)
            return False
        if guards.limit is not None or shared.serving is None:
            inside = self._inside = shared.environment.inside()
            inside.passed = guards.passes
            if guards.limit is not None:
                inside.limits.append(guards.limit)
        return True

    def close(self) -> None:
        super().close()
        if self._guards is not None:
            self._guards.drop(self._shared.events.now)

    def ended(self, value: Any, failure: BaseException | None) -> None:
        """End a try: plan the next one after a wait, or end the run."""
        shared, inside, guards = self._shared, self._inside, self._guards
        if inside is not NOT_YET:
            inside.limits.clear()
            inside.passed = ()
            shared.environment.unused.append(inside)
            self._inside = NOT_YET
        if guards is None or not guards.judges:
            if failure is None and self._after is None and self._log is None:
                if guards is not None:
                    guards.close(None)
                shared.done(self, value, None)
                return
        else:
            failure = guards.leave(value, failure, shared.events.now)
        chosen: Predicate | None = None
        if failure is not None:
            failure.__traceback__ = None  # its frames refer to the client: a reference cycle
            if isinstance(failure, Misuse):
                raise failure
            try:
                if guards is None or guards.reason is None:
                    if self._after is None:
                        self._after = shared.descent()
                    seconds = self._after(failure, self._wait_count, self._shortest)
                    if seconds is None:
                        chosen = shared.tried.chosen
                    elif guards is None or not guards.refuse(failure, seconds, shared.events.now):
                        self._wait(seconds, failure)
                        return
            except Exception as error:
                failure = error
                failure.__traceback__ = None
        if self._log is not None:
            self._log.end(failure, chosen, guards)
            self._log = shared.log()
        if self._after is not None:
            self._after, self._wait_count, self._shortest = None, 0, 0.0
        if guards is not None:
            guards.close(failure)
        shared.done(self, value, failure)

    def _wait(self, seconds: float, failure: BaseException) -> None:
        self._wait_count += 1
        self._shortest = seconds
        events = self._shared.events
        if self._log is not None:
            self._log.begin_wait(self.number, events.now, seconds, failure)
        if self._shared.from_start:
            events.at(max(events.now, self.begun + seconds), RetryClient.begin, self)
        else:
            events.after(seconds, RetryClient.begin, self)
