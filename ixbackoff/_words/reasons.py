"""Reasons: why a run ended, as it is told to observers and kept with the failure."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Literal, TypeAlias

from .values import Value

Reason: TypeAlias = Literal[
    "well",
    "gave up",
    "not worth another try",
    "no time left",
    "budget empty",
    "circuit open",
    "stopped",
    "misuse",
    "parked",
    "cancelled",
]
"""Why a run ended.

- "well": it has a value.
- "gave up": it failed, and no rung was left, or no step was there to try again.
- "not worth another try": it failed with what `on` does not choose.
- "no time left": the time of the run was over, or a wait would have ended too late.
- "budget empty": the budget could not pay for another try.
- "circuit open": the circuit breaker let no try through.
- "stopped": it was told to stop instead of waiting.
- "misuse": the program has to be changed.
- "parked": it is durable, and no process holds it while it waits; it goes on after the wait.
- "cancelled": an exception that is not an `Exception` ended it: cancellation, Ctrl-C, the close of
  a generator.
"""

NOTE = "ixbackoff:"
"""The prefix of each note that is added to a failure."""

TRIES = f"{NOTE} tries:"


class Story(Value):
    """The run that ended with a failure: what its last note says, as values.

    Attributes:
        tries: how many attempts were made.
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
    """A note that tells the story of a run; pickled, it is a plain string.

    So a failure can be sent to a process that does not have this library.
    """

    __slots__ = ("story",)
    story: Story

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


def story_note(story: Story, switched: str = "") -> StoryNote:
    """Write the note of a story, and which switch of a test has a part in it."""
    said = f"{story.tries}, waits: {story.wait_count}, {story.wait_seconds:g} s in all{switched}"
    made = StoryNote(f"{TRIES} {said}")
    made.story = story
    return made


def story(failure: BaseException) -> Story | None:
    """Return the story of the run that ended with this failure, or `None` if none did.

    >>> from ixbackoff import N2, NotReady, at, call
    >>> from ixbackoff.observing import story
    >>> from ixbackoff.testing import Virtual, always
    >>> from ixbackoff import Call
    >>> world = Virtual(Call.handled_by(always(NotReady())))
    >>> try:
    ...     at(N2).retry(call(print)).run(world.interpreter)
    ... except NotReady as failure:
    ...     story(failure)
    Story(tries=3, wait_count=2, wait_seconds=3.0, reason='gave up')

    A failure that was pickled, or whose class takes no notes, has none.
    """
    notes: Any = getattr(failure, "__notes__", ())
    with suppress(Exception):  # notes can be anything
        return next((note.story for note in reversed(notes) if note.__class__ is StoryNote), None)
    return None


def add_note(failure: BaseException, note: str, stale: str | None = NOTE) -> None:
    """Add a note to a failure, and take away those that begin with `stale`."""
    with suppress(Exception):  # some exceptions take no note
        if stale is not None:
            notes = getattr(failure, "__notes__", [])
            notes[:] = [note for note in notes if not str(note).startswith(stale)]
        failure.add_note(note)
