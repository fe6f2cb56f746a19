"""Checks of the functions that are decorated with `backoff`."""

from __future__ import annotations

from typing import Any

from .._meaning.chains import PROGRAM
from .._meaning.names import function_name
from .._words.commands import GENERATORS, Misuse, code_flags


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


def no_coroutine_function(function: Any, coroutine: Any) -> Misuse:
    """Close the coroutine that a plain function returned, and return the error for it."""
    coroutine.close()
    return Misuse(
        f"backoff on {function_name(function)}: it is not written with `async def`, but it "
        "returned a coroutine, which would not be retried: put backoff on the `async def` itself."
    )
