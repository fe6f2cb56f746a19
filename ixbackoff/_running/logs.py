"""The log: a line for each wait (see `sleeping`), and one for most runs that have given up."""

from __future__ import annotations

from contextlib import suppress
from math import prod
from typing import TYPE_CHECKING, Any

from .._words.end_reasons import Reason
from .._words.judging import Inner, inner
from .._words.logger import default_logger
from .._words.notes import NOTE, Story
from .._words.rungs import ENDLESS
from .._words.standard_commands import INFO, Delay

if TYPE_CHECKING:
    from logging import Logger

LONGEST = 2_000  # characters of a failure
MOST_LOGGED = 1000
INNER_LOGGED: set[str] = set()
"""The names of runs whose inner retries, those of other libraries, have been logged."""

DEBUG, WARNING = 10, 30  # those of `logging`, which takes 16 ms to import

REFUSED: frozenset[Reason] = frozenset(
    {"no time left", "budget empty", "circuit open", "crowded", "stopped", "asked for too long"}
)
"""The reasons for which the end of a run is logged even if the run has not waited."""


def log(wait: Delay, logger: Logger | None = None) -> None:
    """Log the beginning of a wait: WARNING after a failure, DEBUG in line at a gate, else INFO."""
    to: Any = logger or default_logger()
    run = wait.run
    if run is not None:
        run.logger = to
    if not wait.rung:
        to.log(DEBUG, "a try stands in line for %g s", wait.seconds)
        return
    name = "a program" if run is None else run.name
    if wait.failure is None:
        if to.isEnabledFor(INFO):
            extra = {"ixbackoff_run": name, "ixbackoff_wait": wait.seconds}
            to.log(INFO, "%s: waiting %g s", name, wait.seconds, extra=extra)
        return
    number = 1 if run is None else run.retries + 1
    endless = run is not None and run.top == ENDLESS
    log_wait(name, number, None if endless else number + wait.rung, wait.failure, wait.seconds, to)


def log_wait(
    name: str,
    number: int,
    of: int | None,
    failure: Exception,
    seconds: float,
    logger: Logger | None = None,
) -> None:
    """Log a wait after the try `number`, from 1; `of` is the greatest number of tries."""
    to: Any = logger or default_logger()
    if not to.isEnabledFor(WARNING):
        return
    extra = {
        "ixbackoff_run": name,
        "ixbackoff_try": number,
        "ixbackoff_of": of,
        "ixbackoff_wait": seconds,
        "ixbackoff_failure": failure.__class__.__qualname__,
    }
    which = f"{number} at FOREVER" if of is None else f"{number} of {of}"
    text = "%s: try %s failed (%s); waiting %g s"
    to.log(WARNING, text, name, which, described(failure), seconds, extra=extra)
    if name not in INNER_LOGGED and (loops := inner(failure)):
        log_inner(name, loops, to)


def log_inner(name: str, loops: list[Inner], logger: Logger) -> None:
    if len(INNER_LOGGED) < MOST_LOGGED:  # names made at run time may be too many
        INNER_LOGGED.add(name)
    tries = " and ".join(f"{one.library} tries {one.tries} times" for one in loops)
    remedies = " and ".join(one.remedy for one in loops)
    text = "%s: each try is up to %d requests, because %s inside it (turn it off with %s)"
    requests = prod(one.tries for one in loops)
    logger.warning(text, name, requests, tries, remedies, extra={"ixbackoff_run": name})


def log_end(name: str, story: Story, failure: Exception, logger: Logger | None = None) -> None:
    """Log that a run has given up, if it has waited, or if the reason is in `REFUSED`."""
    if not (story.wait_count or story.reason in REFUSED) or story.reason == "misuse":
        return
    to: Any = logger or default_logger()
    extra = {
        "ixbackoff_run": name,
        "ixbackoff_reason": story.reason,
        "ixbackoff_tries": story.tries,
        "ixbackoff_wait_count": story.wait_count,
        "ixbackoff_wait_seconds": story.wait_seconds,
        "ixbackoff_failure": failure.__class__.__qualname__,
    }
    tries = "1 try" if story.tries == 1 else f"{story.tries} tries"
    why = "" if story.reason == "gave up" else f": {story.reason}"
    text = "%s: gave up after %s and %g s of waits%s (%s)"
    with suppress(Exception):  # a log that fails does not hide the failure
        words = (name, tries, story.wait_seconds, why, described(failure))
        to.log(WARNING, text, *words, extra=extra)


def described(failure: BaseException) -> str:
    """Return a failure as one line, with its `first_note`."""
    text = one_line(failure)
    message = f": {text}" if text else ""
    note = first_note(failure)
    return f"{failure.__class__.__name__}{message}{f' ({note})' if note else ''}"


def first_note(failure: BaseException) -> str:
    """Return the first note that this library has not added; empty if there is none."""
    with suppress(Exception):  # notes can be anything
        notes = map(one_line, getattr(failure, "__notes__", ()))
        return next((note for note in notes if not note.startswith(NOTE)), "")
    return ""


def one_line(value: object) -> str:
    """Return the text of a failure or a note, with spaces for unprintable characters.

    The middle of a long text is left out: a URL can have any length.
    """
    try:
        text = str(value)
    except Exception:
        return "<str() failed>"
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]}...{text[-LONGEST // 2 :]}"
    return "".join(letter if letter.isprintable() else " " for letter in text)
