"""Clients that retry one command: the commonest program, and the fastest path.

Without this path a bare command takes 1.5 to 1.7 times as long.
"""

from __future__ import annotations

from typing import Any, Final

from .._meaning.chains import Ladder
from .._running.traces import Performed
from .._words.failures import DeadlineExceeded
from ..schedules.timings import After, Timing
from .environment import Done, Environment, Running
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
        self.count_failure: Final = environment.count_failure
        self.serving: Final = serving
        self.ask: Final = serving.ask

    def client(self, number: int) -> Running:
        return CommandClient(self, number)


class CommandClient:
    """A client that retries a command; its attributes are those of `Trying`."""

    def __init__(self, shared: CommandRetrying, number: int) -> None:
        self._shared = shared
        self._asking = False  # whether a call of `ask` is active: see ASKING in performers
        self._arrived: tuple[Any, Exception | None] | None = None
        self.number = number
        self.since = 0.0
        self.begun = 0.0
        self.after: After | None = None
        self.wait_count = 0
        self.shortest = 0.0
        self.log = shared.log()

    def begin(self) -> None:
        shared = self._shared
        events, limit = shared.events, shared.limit
        if self.log is not None:
            self.log.end_wait()
        shared.tally.asked += 1
        self.begun = now = events.now
        self._asking = True
        request = Request(shared.command, self.number, now, limit, self)
        if limit is not None:
            events.after(limit, self._expired, request)
        shared.ask(request)
        self._asking = False
        if self._arrived is not None:
            (value, failure), self._arrived = self._arrived, None
            self._end_try(value, failure)

    def close(self) -> None:
        """Do nothing: no generator is open."""

    def settled(self, request: Request, value: Any, failure: Exception | None) -> None:
        shared = self._shared
        tally = shared.tally
        if failure is None:
            tally.answered += 1
            tally.latency += shared.events.now - request.begun
        else:
            shared.count_failure(failure)
        if self._asking:
            self._arrived = value, failure
        else:
            self._end_try(value, failure)

    def _end_try(self, value: Any, failure: Exception | None) -> None:
        shared = self._shared
        if self.log is not None:
            self._record(value, failure)
        elif failure is None and self.after is None:
            shared.done(self, value, None)
            return
        shared.end_try(self, value, failure)

    def _expired(self, request: Request) -> None:
        if not request.over:
            request.over = True
            shared = self._shared
            shared.serving.abandoned(request)
            late = TimeoutError(f"no answer arrived within {shared.limit:g} s")
            shared.count_failure(late)
            self._record(None, late)
            where = f" ({shared.command.__class__.__name__} was running)"
            exceeded = DeadlineExceeded(f"not done within {shared.limit:g} s{where}")
            shared.end_try(self, None, exceeded)

    def _record(self, answer: Any, failure: Exception | None) -> None:
        trace = self._shared.trace
        if trace is not None:
            trace.append(Performed(self.begun, self._shared.command, answer, failure, self.number))
