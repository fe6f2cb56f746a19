"""Clients that try an attempt again and again, and drive its generator themselves."""

from __future__ import annotations

from typing import Any, Final

from .._meaning.chains import Chain, Ladder
from .._meaning.descents import After
from .._words.commands import Misuse
from ..schedules.kinds import Timing
from .clients import Client
from .descents import Retrying
from .environments import Done, Environment, Running
from .tries import Tried, starting


class AttemptRetrying(Retrying):
    """The state that all clients of one attempt share."""

    def __init__(
        self,
        environment: Environment,
        program: Ladder,
        tried: Tried,
        timing: Timing,
        done: Done,
        attempt: Chain,
    ) -> None:
        super().__init__(environment, program, tried, timing, done)
        self.environment: Final = environment
        self.start: Final = starting(attempt)
        self.ended: Final[Done] = self.end_try  # bound once, not for each client

    def client(self, number: int) -> Running:
        """Make one of them."""
        return AttemptClient(self, number)


class AttemptClient(Client):
    """A client that tries an attempt.

    Attributes:
        after: the waits of this run of the program, from its first failure on.
        waits: how many there have been.
        shortest: how long the last of them was.
        log: the waits of this run, for the trace; `None` without one.
    """

    __slots__ = ("_shared", "after", "log", "shortest", "waits")

    def __init__(self, shared: AttemptRetrying, number: int) -> None:
        super().__init__(shared.environment, number, shared.start, shared.ended)
        self._shared = shared
        self.after: After | None = None
        self.waits = 0
        self.shortest = 0.0
        self.log = shared.log()

    def begin(self) -> None:
        """Try: for the first time, or after a wait."""
        trace = self._shared.trace
        if trace is not None and self.log is not None:
            self.log.end_wait(trace)
        super().begin()

    def _wait(self, wait: Any) -> None:  # noqa: ARG002
        raise Misuse("An attempt cannot wait: raise NotReady instead.")
