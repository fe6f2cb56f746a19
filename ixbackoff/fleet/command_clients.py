"""Clients that try a command again and again: the commonest program, and the fastest."""

from __future__ import annotations

from typing import Any, Final

from .._meaning.chains import Ladder
from .._meaning.descents import After
from .._running.traces import Performed
from .._words.failures import DeadlineExceeded
from ..schedules.kinds import Timing
from .descents import Retrying
from .environments import Done, Environment, Running
from .services import Request, Serving
from .tries import Tried


class CommandRetrying(Retrying):
    """The state that all clients of one command share."""

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
        self.failed: Final = environment.failed
        self.serving: Final = serving
        self.ask: Final = serving.ask

    def client(self, number: int) -> Running:
        """Make one of them."""
        return CommandClient(self, number)


class CommandClient:
    """A client that tries a command.

    Attributes:
        number: which client it is.
        begun: when the present try began, or the one before the present wait.
        after: the waits of this run of the program, from its first failure on.
        wait_count: the number of its waits.
        shortest: how long the last of them was.
        log: the waits of this run, for the trace; `None` without one.
    """

    __slots__ = (
        "_came",
        "_held",
        "_shared",
        "after",
        "begun",
        "log",
        "number",
        "shortest",
        "wait_count",
    )

    def __init__(self, shared: CommandRetrying, number: int) -> None:
        self._shared = shared
        self._held = False  # whether a result is kept until `ask` has returned
        self._came: tuple[Any, Exception | None] | None = None
        self.number = number
        self.begun = 0.0
        self.after: After | None = None
        self.wait_count = 0
        self.shortest = 0.0
        self.log = shared.log()

    def begin(self) -> None:
        """Try: for the first time, or after a wait."""
        shared = self._shared
        events, limit = shared.events, shared.limit
        if self.log is not None:
            self.log.end_wait()
        shared.tally.asked += 1
        self.begun = now = events.now
        self._held = True
        request = Request(shared.command, self.number, now, limit, self)
        if limit is not None:
            events.after(limit, self._expired, request)
        shared.ask(request)
        self._held = False
        if self._came is not None:
            (value, failure), self._came = self._came, None
            self._end_try(value, failure)

    def close(self) -> None:
        """Close nothing: nothing is open."""

    def settled(self, request: Request, value: Any, failure: Exception | None) -> None:
        """Take the result of a request."""
        shared = self._shared
        tally = shared.tally
        if failure is None:
            tally.answered += 1
            tally.latency += shared.events.now - request.begun
        else:
            shared.failed(failure)
        if self._held:
            self._came = value, failure
        else:
            self._end_try(value, failure)

    def _end_try(self, value: Any, failure: Exception | None) -> None:
        shared = self._shared
        if self.log is not None:
            self._told(value, failure)
        elif failure is None and self.after is None:
            shared.done(self, value, None)
            return
        shared.end_try(self, value, failure)

    def _expired(self, request: Request) -> None:
        if not request.over:
            request.over = True
            shared = self._shared
            shared.serving.abandoned(request)
            late = TimeoutError(f"nothing came for {shared.limit:g} s")
            shared.failed(late)
            self._told(None, late)
            where = f" ({shared.command.__class__.__name__} was running)"
            exceeded = DeadlineExceeded(f"not done within {shared.limit:g} s{where}")
            shared.end_try(self, None, exceeded)

    def _told(self, answer: Any, failure: Exception | None) -> None:
        """Add the command, which has ended, to the trace."""
        trace = self._shared.trace
        if trace is not None:
            trace.append(Performed(self.begun, self._shared.command, answer, failure, self.number))
