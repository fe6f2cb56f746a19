"""Stopping a run from outside, by a `threading.Event` that ends its waits."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from .._words.commands import Misuse, Stream
from .._words.failure_classes import Stopped
from .._words.notes import NOTE, add_note
from .._words.standard_commands import Delay
from .command_substitution import passed_on
from .interrupt_safety import assigned

if TYPE_CHECKING:
    from threading import Event

__tracebackhide__ = True

STOPS: ContextVar[tuple[Event, ...]] = ContextVar("ixbackoff_stops", default=())
"""The `threading.Event`s that end the current wait, for the functions that sleep."""


def checked_stop(stop: Event) -> Event:
    candidate: object = stop
    threading = sys.modules.get("threading")  # a caller with an event has imported it
    if threading is not None and isinstance(candidate, threading.Event):
        return stop
    raise Misuse(f"stop={stop!r}: give a threading.Event, or cancel the task of an async program.")


def stoppable(stream: Stream, stop: Event) -> Stream:
    """Pass `stream` on; once `stop` is set, end the current wait and start no other."""
    if stop.is_set():
        stream.close()
        raise Stopped("stopped before anything was asked")

    def instead(command: Any) -> Stream | None:
        return waited(command, stop) if command.__class__ is Delay else None

    return (yield from passed_on(stream, instead))


def waited(wait: Any, stop: Event) -> Stream:
    try:
        if not stop.is_set():
            with ending_waits(stop):
                yield wait
        if stop.is_set():
            raise stop_failure(wait)
    finally:  # break the cycle of failure, traceback, this frame and the wait
        del wait


def ending_waits(stop: Event) -> AbstractContextManager[None]:
    """Let `stop` end every sleep in this block."""
    return assigned(STOPS, (*STOPS.get(), stop))


def stop_failure(wait: Any) -> Exception:
    """Return the failure before `wait`, with a note; after a success, `Stopped`."""
    failure: Exception | None = wait.failure
    wait.refuse("stopped")
    try:
        if failure is None:
            return Stopped("stopped in a wait")
        add_note(failure, f"{NOTE} not tried again: stopped")
        return failure
    finally:  # break the cycle of failure, traceback and this frame
        del failure, wait
