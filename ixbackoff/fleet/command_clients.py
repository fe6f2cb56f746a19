"""Clients that retry one command: the commonest program, and the fastest path.

Without this path a bare command takes 1.5 to 1.7 times as long.
"""

from __future__ import annotations

from typing import Any, Final

from .._limits.deadlines import Expired, check_in_time, seconds_left
from .._meaning.chains import Ladder
from .._running.traces import Performed
from .._words.verdicts import is_transient
from ..schedules.timings import After, Timing
from .environment import Done, Environment, Running
from .guards import Guards
from .performers import ASKING, Asking
from .retries import Retrying, Tried
from .services.service import Request, Serving


class CommandRetrying(Retrying):
    def __init__(
        self,
        environment: Environment,
        program: Ladder,
        tried: Tried,
        timing: Timing,
        done: Done,
        serving: Serving,
    ) -> None:
        super().__init__(environment, program, tried, timing, done)
        self.command: Final[Any] = tried.command
        self.limit: Final = tried.limit
        self.tally: Final = environment.tally
        self.ask: Final = serving.ask

    def client(self, number: int, guards: Guards | None) -> Running:
        return CommandClient(self, number, guards)


class CommandClient(Asking):
    """A client that retries a command; its attributes are those of `Trying`."""

    def __init__(self, shared: CommandRetrying, number: int, guards: Guards | None) -> None:
        self.shared = shared
        self.guards = guards
        self._arrived: Any = None  # as in `TaskPerformer`
        self.number = number
        self.begun = 0.0
        self.after: After | None = None
        self.wait_count = 0
        self.shortest = 0.0
        self.log = shared.log()

    @property
    def _environment(self) -> Environment:  # type: ignore[override]
        return self.shared.environment

    def begin(self) -> None:
        shared, guards = self.shared, self.guards
        events, limit = shared.events, shared.limit
        now, left = events.now, limit
        if guards is None:
            if self.log is not None:
                self.log.end_wait()
            self.begun = now
        elif not guards.admit(self):
            return
        elif guards.limit is not None:
            try:
                left = seconds_left(shared.command, (guards.limit,), now)
            except Expired as error:
                shared.end_try(self, None, error)
                return
        shared.tally.asked += 1
        self._arrived = ASKING
        request = Request(shared.command, self.number, now, left, self)
        if limit is not None:
            events.after(limit, self.exceeded, (request, limit))
        elif left is not None:
            events.after(left, self.expired, request)
        shared.ask(request)
        arrived, self._arrived = self._arrived, None
        if arrived is not ASKING:
            shared.end_try(self, *arrived)

    def close(self) -> None:
        if self.guards is not None:
            self.guards.drop(self.shared.events.now)

    def settled(
        self,
        request: Request,
        value: Any,
        failure: Exception | None,
        instead: Exception | None = None,
    ) -> None:
        shared, guards, raised = self.shared, self.guards, instead or failure
        tally = shared.tally
        now = shared.events.now
        if shared.trace is not None:
            line = Performed(request.begun, shared.command, value, failure, self.number)
            shared.trace.append(line)
        if failure is None:
            tally.answered += 1
            tally.latency += now - request.begun
        else:
            shared.environment.count_failure(failure)
            if guards is not None and guards.limit is not None and is_transient(failure):
                try:
                    check_in_time(request.command, (guards.limit,), request.begun, now, failure)
                except Expired as error:
                    raised = error
        if self._arrived is not None:
            self._arrived = value, raised
        elif raised is None and self.after is None and guards is None and self.log is None:
            shared.done(self, value, None)
        else:
            shared.end_try(self, value, raised)
