"""A decorated function: what it may be, its name, and everything that its calls share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._meaning.chains import PROGRAM
from .._meaning.program_names import function_name
from .._meaning.run_defaults import ONCE
from .._words.call_commands import Call, CallAsync
from .._words.commands import GENERATORS, code_flags, is_coroutine_function
from .._words.rungs import ENDLESS
from ..schedules.base import After
from .settings import wanting


class Called:
    """A decorated function and its `backoff`; each run marks its context with this object."""

    def __init__(self, backoff: Any, function: Any, name: str = "") -> None:
        self.backoff = backoff
        self.function = function
        self.name: str = backoff._settings.name or name or function_name(function)
        # once: whether nested="once" is given, so that the inner of two nested functions tries once
        self.once: bool = backoff._settings.nested == ONCE
        self.top: int = backoff._top  # the greatest number of waits
        self.tries: int | None = None if self.top == ENDLESS else self.top + 1  # at most
        self.awaits = is_coroutine_function(function)
        # attempt: the function for one try, which checks `until` and goes through the breaker
        self.attempt: Any = wanting(function, backoff._settings.until)
        # descent: makes the function that computes the waits of a call
        self.descent: Callable[[], After] = backoff._begin  # can be pickled, unlike `_descent`
        breaker = backoff._settings.breaker
        if breaker is not None:
            from .circuits import guarded, reported

            self.attempt = guarded(self.attempt, self.awaits, breaker)
            self.descent = reported(self.descent, self.awaits, breaker)

    def __reduce__(self) -> Any:
        return Called, (self.backoff, self.function, self.name)

    def command(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        kind: Any = CallAsync if self.awaits else Call
        return kind(self.function, args, tuple(kwargs.items()))

    def __str__(self) -> str:
        return f"{self.name} (backoff {self.backoff.rung_name})"


def checked_function(function: Any) -> Any:
    name = function_name(function)
    kind = type(function).__name__
    if kind in ("staticmethod", "classmethod", "property"):
        raise TypeError(f"backoff on a {kind}: write it below @{kind}.")
    if not callable(function):
        raise TypeError(f"backoff on {function!r}: it is for functions and methods.")
    if code_flags(function) & GENERATORS:
        raise TypeError(
            f"backoff on {name}: it is a generator function, and after a failure it would yield "
            "the first items again: write backoff(...).stream, which retries it until its first "
            "item, or return a list."
        )
    return function


def undecorated(function: Any) -> Any:
    if not hasattr(function, PROGRAM):
        return function
    itself = getattr(function, "__self__", None)
    return function.__wrapped__ if itself is None else function.__wrapped__.__get__(itself)
