"""Notes on a failure: the tries and waits of its run, and why it was not tried again."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from .end_reasons import Reason
from .equality_by_fields import Value

NOTE = "ixbackoff:"
"""The prefix of each note that is added to a failure."""

TRIES = f"{NOTE} tries:"
TOO_LONG = f"{NOTE} not tried again: asked to wait"
CANCELLED = f"{NOTE} not tried again: the task was cancelled"


class Story(Value):
    """The account of a failed run: the counts in the last note of its failure, and the reason.

    Attributes:
        tries: the number of tries.
        wait_count: the number of waits.
        wait_seconds: the seconds of these waits.
        reason: why the run ended.
    """

    __slots__ = ("tries", "wait_count", "wait_seconds", "reason")

    def __init__(self, tries: int, wait_count: int, wait_seconds: float, reason: Reason) -> None:
        self.tries = tries
        self.wait_count = wait_count
        self.wait_seconds = wait_seconds
        self.reason = reason


class StoryNote(str):
    """The note with the story of a run.

    The note is pickled as a plain string, so a process without this library can load the failure.
    """

    __slots__ = ("story",)
    story: Story

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


def story_note(story: Story, switched: str = "") -> StoryNote:
    """Make the note of a story; append `switched`, which names the switch that stopped retries."""
    waits = f"waits: {story.wait_count}, {story.wait_seconds:g} s in all"
    made = StoryNote(f"{TRIES} {story.tries}, {waits}{switched}")
    made.story = story
    return made


def story(failure: BaseException) -> Story | None:
    """Return the story of the run that ended with `failure`; `None` if a run left no note on it.

    >>> from ixbackoff import N2, Call, NotReady, at, call
    >>> from ixbackoff.observing import story
    >>> from ixbackoff.testing import Virtual, always
    >>> world = Virtual(Call.handled_by(always(NotReady())))
    >>> try:
    ...     at(N2).retry(call(print)).run(world.interpreter)
    ... except NotReady as failure:
    ...     story(failure)
    Story(tries=3, wait_count=2, wait_seconds=3.0, reason='gave up')

    A pickled failure has no such note, and neither has a failure whose class takes no notes.
    """
    notes: Any = getattr(failure, "__notes__", ())
    with suppress(Exception):  # notes can be anything
        return next((note.story for note in reversed(notes) if note.__class__ is StoryNote), None)
    return None


def too_long(failure: BaseException) -> str:
    """Return the last note of a failure if it is about a wait above `longest`, else ""."""
    with suppress(Exception):  # notes can be anything
        notes: Any = getattr(failure, "__notes__", ())
        last = str(notes[-1])
        return last if last.startswith(TOO_LONG) else ""
    return ""


def add_note(failure: Any, note: str, stale: str | None = NOTE) -> None:
    """Add a note to a failure, in place of its notes that begin with `stale`."""
    with suppress(Exception):  # some exceptions take no note
        if stale is not None:
            notes = getattr(failure, "__notes__", [])
            notes[:] = [note for note in notes if not str(note).startswith(stale)]
        failure.add_note(note)
