"""The end of a call that fails: its notes, its line in the log, and its reason."""

from __future__ import annotations

from .._meaning.descents import ONE_TRY
from .._meaning.runs import not_chosen, noted
from .._running.logs import log_end
from .._words.commands import Misuse, stopped
from .._words.failures import CircuitOpen
from .._words.reasons import Reason, Story
from .._words.verdicts import is_transient
from .called import Called


def ended(failure: Exception, called: Called, k: int, waited: float, no_wait: bool) -> Reason:
    """Note and log what was done about the failure that a call ends with, as a program's run does.

    Args:
        failure: the failure.
        called: what was called.
        k: how many waits there were.
        waited: their seconds.
        no_wait: true if there was no wait for this failure, and it is not that of a wait.
    """
    reason: Reason = "gave up"
    note = ""
    if isinstance(failure, Misuse):
        reason = "misuse"
    elif isinstance(failure, CircuitOpen):
        reason = "circuit open"
    elif no_wait and k != called.top and not ONE_TRY:
        by_default = called.backoff._settings.on is is_transient
        reason, note = "not worth another try", not_chosen(failure, by_default)
    story = Story(k + 1, k, waited, reason)
    noted(failure, story, note)
    log_end(called.name, story, failure)
    return reason


def stop_noted(
    failure: StopIteration, called: Called, k: int, waited: float, no_wait: bool
) -> RuntimeError:
    """Make the failure of a call that raised a `StopIteration`, as if a handler had raised it."""
    made = stopped(failure)
    ended(made, called, k, waited, no_wait)
    return made
