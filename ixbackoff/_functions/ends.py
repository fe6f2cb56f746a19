"""The end of a call that fails: its notes, its line in the log, and its reason."""

from __future__ import annotations

from typing import Any

from .._meaning.counting import function_name
from .._meaning.runs import not_chosen, noted
from .._running.logs import log_end
from .._words.commands import Misuse, stopped
from .._words.nat import ENDLESS
from .._words.reasons import Reason, Story
from .._words.verdicts import may_pass


def name_of(backoff: Any, function: Any) -> str:
    """Return the name of the calls of a function, as observers and the log are told."""
    name: str = backoff.name or function_name(function)
    return name


def most_tries(top: int) -> int | None:
    """Return how many tries a call has at most, with so many rungs; `None` if it has no end."""
    return None if top == ENDLESS else top + 1


def ended(
    failure: Exception, backoff: Any, name: str, k: int, waited: float, no_wait: bool
) -> Reason:
    """Note and log what was done about the failure that a call ends with, as a program's run does.

    Args:
        failure: the failure.
        backoff: how the call was tried.
        name: the name of the call.
        k: how many waits there were.
        waited: their seconds.
        no_wait: true if there was no wait for this failure, and it is not that of a wait.
    """
    reason: Reason = "gave up"
    note = ""
    if isinstance(failure, Misuse):
        reason = "misuse"
    elif no_wait and k != backoff._top:
        reason, note = "not worth another try", not_chosen(failure, backoff._on is may_pass)
    story = Story(k + 1, k, waited, reason)
    noted(failure, story, note)
    log_end(name, story, failure)
    return reason


def stop_noted(
    failure: StopIteration, backoff: Any, name: str, k: int, waited: float, no_wait: bool
) -> RuntimeError:
    """Make the failure of a call that raised a `StopIteration`, as if a handler had raised it."""
    made = stopped(failure)
    ended(made, backoff, name, k, waited, no_wait)
    return made
