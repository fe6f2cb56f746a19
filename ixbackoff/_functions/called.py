"""A decorated function: its name, and what each call of it needs."""

from __future__ import annotations

from typing import Any

from .._meaning.defaults import ONCE
from .._meaning.names import function_name
from .._words.commands import is_coroutine_function
from .._words.nat import ENDLESS
from .settings import wanting


class Called:
    """A function under a `backoff`; it is the mark of its runs, and errors name it.

    >>> from ixbackoff import N3, backoff
    >>> str(Called(backoff(N3), print))
    'print (backoff N3)'

    Attributes:
        backoff: how it is tried.
        function: the function.
        name: the name that the log, observers and errors are told.
        once: true if a decorated function inside it, or around it, makes the inner one try once.
        top: the most waits that there can be.
        tries: how many tries a call has at most, `None` if it has no end.
        attempt: what each try calls: the function, with `until` and through the breaker.
        descent: begins to try again.
    """

    __slots__ = ("attempt", "backoff", "descent", "function", "name", "once", "top", "tries")

    def __init__(self, backoff: Any, function: Any, name: str = "") -> None:
        self.backoff = backoff
        self.function = function
        self.name: str = backoff._settings.name or name or function_name(function)
        self.once: bool = backoff._settings.nested == ONCE
        self.top: int = backoff._top
        self.tries: int | None = None if self.top == ENDLESS else self.top + 1
        self.attempt, self.descent = wanting(function, backoff._settings.until), backoff._descent
        breaker = backoff._settings.breaker
        if breaker is not None:
            from .guarding import guarded, guarded_async

            through = guarded_async if is_coroutine_function(function) else guarded
            self.attempt, self.descent = through(self.attempt, breaker, self.descent)

    def __str__(self) -> str:
        return f"{self.name} (backoff {self.backoff.rung_name})"
