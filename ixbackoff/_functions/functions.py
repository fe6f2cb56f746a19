"""Checks of what `backoff` is put on."""

from __future__ import annotations

from typing import Any

from .._words.commands import GENERATORS, Misuse, code_flags


def check_function(function: Any) -> None:
    """See that it can be tried again.

    Raises:
        TypeError: it is no function that can be tried again.
    """
    name = getattr(function, "__name__", repr(function))
    kind = type(function).__name__
    if kind in ("staticmethod", "classmethod", "property"):
        raise TypeError(f"backoff on a {kind}: write it below @{kind}.")
    if not callable(function):
        raise TypeError(f"backoff on {function!r}: it is for functions and methods.")
    if code_flags(function) & GENERATORS:
        raise TypeError(
            f"backoff on {name}: it is a generator function, and what it had given before it "
            "failed would be given again: try again what it calls, or collect what it gives into "
            "a list."
        )


def no_coroutine_function(function: Any, coroutine: Any) -> Misuse:
    """The error of a function that gives a coroutine and does not say so."""
    coroutine.close()
    name = getattr(function, "__name__", repr(function))
    return Misuse(
        f"backoff on {name}: it is not written with `async def`, yet it gave a coroutine, of which "
        "nothing would be tried again: put it on the `async def` itself."
    )
