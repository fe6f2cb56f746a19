"""The end of a call that fails: its notes, its line in the log, and its last events."""

from __future__ import annotations

from .._limits.deadlines import time_around
from .._meaning.retrying import ONE_TRY
from .._meaning.run_state import not_chosen, noted
from .._running.logs import log_end
from .._words.commands import Misuse, raisable
from .._words.end_reasons import Reason
from .._words.failure_classes import CircuitOpen, Crowded
from .._words.judging import is_transient
from .._words.notes import CANCELLED, Story, too_long
from .called_function import Called
from .observed_calls import Watched


def ended(
    failure: BaseException,
    called: Called,
    k: int,
    waited: float,
    no_wait: bool,
    watched: Watched | None,
    cancelled: object = False,
) -> None:
    """Add the notes to the failure of a call, log the end, and deliver the last events.

    There were `k` waits of `waited` seconds in all. `no_wait`: after the last failure no wait
    began. `cancelled`: the task was cancelled in the last try.
    """
    raised = raisable(failure)
    try:
        if isinstance(raised, Exception):
            early = no_wait and k != called.top
            reason, note = reason_and_note(raised, called, early, bool(cancelled) and not no_wait)
            story = Story(k + 1, k, waited, reason)
            noted(raised, story, note)
            if called.top:  # a single try is not logged, as in `log_ended`
                log_end(called.name, story, raised)
            if watched is not None:
                watched.reason = reason
        if watched is not None:
            watched.close(raised)
        if raised is not failure:
            raise raised
    finally:  # break the cycle of exception, traceback and this frame
        del raised, failure


def reason_and_note(
    failure: Exception, called: Called, early: bool, cancelled: bool
) -> tuple[Reason, str]:
    """Return why a call ended, and the note that explains it; `early`: rungs were left."""
    if isinstance(failure, Misuse):
        return "misuse", ""
    if cancelled:
        return "cancelled", CANCELLED
    if early and (note := too_long(failure)):
        return "asked for too long", note
    around = time_around() if early else None
    if around is not None and around.late:
        return "no time left", around.late
    if isinstance(failure, CircuitOpen):
        return "circuit open", ""
    if isinstance(failure, Crowded):
        return "crowded", ""
    if early and not ONE_TRY:
        by_default = called.backoff._settings.on is is_transient
        return "not worth another try", not_chosen(failure, by_default)
    return "gave up", ""
