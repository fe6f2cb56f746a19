"""Argument names of other libraries, and the argument of `backoff` for each."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from .._words.rungs import DEEPEST

P = ParamSpec("P")
R = TypeVar("R")

TRIES = ("attempts", "tries", "max_tries", "max_attempts", "stop_after_attempt", "total")
RETRIES = ("retries", "max_retries", "num_retries")
LOGGED = "nothing: the logger `ixbackoff` logs waits, and observers are called with them"
OBSERVED = "ixbackoff.observing.observe(...): an observer is called with each event"
INSTEAD = {
    "wait": "schedule=Exponential(...), or another schedule",
    "delay": "schedule=Constant(...), or another schedule",
    "interval": "schedule=Constant(...), or another schedule",
    "base": "schedule=Exponential(base=...)",
    "wait_initial": "schedule=Exponential(base=...)",
    "backoff_factor": "schedule=Exponential(base=...)",
    "factor": "schedule=Exponential(factor=...)",
    "wait_exp_base": "schedule=Exponential(factor=...)",
    "max_delay": "schedule=Exponential(cap=...)",
    "max_value": "schedule=Exponential(cap=...)",
    "wait_max": "schedule=Exponential(cap=...)",
    "backoff_max": "schedule=Exponential(cap=...)",
    "jitter": "schedule=Exponential(...).jittered(2)",
    "wait_jitter": "schedule=Exponential(...).jittered(2)",
    "timeout": "within=..., in seconds",
    "deadline": "within=..., in seconds",
    "max_time": "within=..., in seconds",
    "retry": "on=...",
    "exceptions": "on=...",
    "retry_on": "on=...",
    "giveup": "on=..., a predicate that is true for the failures to retry",
    "status_forcelist": "nothing, if the function raises for a status, or on=..., a predicate",
    "allowed_methods": "nothing, if the function raises for a status, or on=..., a predicate",
    "reraise": "nothing: the last failure itself is always raised",
    "raise_on_giveup": "nothing: the last failure itself is always raised",
    "retry_error_callback": "`try` and `except` around the call, or .or_else(...) in a program",
    "sleep": "nothing: in tests, ixbackoff.testing.no_waits() makes waits take no time",
    "before_sleep": LOGGED,
    "on_backoff": LOGGED,
    "before": OBSERVED,
    "after": OBSERVED,
    "on_giveup": OBSERVED,
    "on_success": OBSERVED,
}


def in_our_words(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function to explain the argument names of other libraries.

    >>> from ixbackoff import backoff
    >>> backoff(attempts=5)
    Traceback (most recent call last):
    TypeError: backoff(attempts=5): 5 tries are N4, so write backoff(N4).
    """

    @wraps(function)
    def explained(*args: P.args, **kwargs: P.kwargs) -> R:
        for name, value in kwargs.items():
            instead = our_words(name, value)
            if instead is not None:
                raise TypeError(f"{function.__name__}({name}={value!r}): {instead}.")
        return function(*args, **kwargs)

    return explained


def our_words(name: str, value: Any) -> str | None:
    """Return the advice for an argument of another library; `None` for an unknown name."""
    if name in TRIES or name in RETRIES:
        waits = value - (name in TRIES) if isinstance(value, int) else -1
        if not 0 <= waits <= DEEPEST:
            return "give a rung, N0 to N20, which is the number of waits: one less than tries"
        tries = "1 try is" if waits == 0 else f"{waits + 1} tries are"
        return f"{tries} N{waits}, so write backoff(N{waits})"
    instead = INSTEAD.get(name)
    return None if instead is None else f"write {instead}"
