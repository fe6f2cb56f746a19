"""Observed calls of a decorated function, and their events.

A call has the events of its `Backoff.program`, and two more per try that a breaker refuses.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from .._limits.events import Answered, Began, Ended, Issued, Run, WaitBegan
from .._limits.observers import Notifier, Observer, clock
from .._meaning.run_state import number_after
from .._words.commands import Command, raisable
from .called_function import Called


class Watched(Notifier, Run):
    """One observed call; the loop in `call_loops` calls a method of it at each event."""

    tries = 1
    _issued: Any = None  # a reference cycle, so the end of the call clears it

    def __init__(
        self, called: Called, observer: Observer, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self._called = called
        self._arguments = args, kwargs
        self.observer = observer
        self.begun = self._tried = clock()

    @property
    def name(self) -> str:
        return self._called.name

    @cached_property
    def _command(self) -> Command[Any]:
        command: Command[Any] = self._called.command(*self._arguments)
        return command

    def begin(self) -> None:
        self._issued = issued = Issued(self)
        self.notify(Began(self), issued)

    def succeed(self) -> None:
        now = clock()
        answered = Answered(self._issued, now - self._tried, None)
        self.notify(answered, Ended(self, "well", now - self.begun, None))
        self._issued = None

    def fail(self, failure: BaseException) -> None:
        self.notify(Answered(self._issued, clock() - self._tried, raisable(failure)))

    def wait(self, seconds: float, failure: Exception) -> None:
        rung = number_after(self._called.top, self.wait_count)
        self.notify(WaitBegan(self, seconds, rung, failure))

    def retry(self, waits: int, seconds: float) -> None:
        self.wait_count, self.wait_seconds, self.tries = waits, seconds, waits + 1
        self._tried = clock()
        self._issued = issued = Issued(self)
        self.notify(issued)

    def close(self, failure: BaseException) -> None:
        """End the call, and its last try if that has not ended; do nothing the second time."""
        if self.delivered is Issued:
            self.fail(failure)
        self.end(self, failure)
        self._issued = None
