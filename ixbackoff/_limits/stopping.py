"""Stopping a sync program from outside: a `threading.Event` ends its waits."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from .._words.commands import Misuse, Stream
from .._words.failures import Stopped
from .._words.reasons import NOTE, add_note
from .._words.vocabulary import Delay

if TYPE_CHECKING:
    from threading import Event

    Stops = tuple[Event, ...]

__tracebackhide__ = True

STOPS: ContextVar[Stops] = ContextVar("ixbackoff_stops", default=())
"""The events that end the present wait, for what sleeps."""


def checked_stop(stop: Event) -> Event:
    """Return `stop`, if it is an event of threading.

    Raises:
        Misuse: it is not.
    """
    given: object = stop
    threading = sys.modules.get("threading")  # whoever has an event has imported it
    if threading is not None and isinstance(given, threading.Event):
        return stop
    raise Misuse(f"stop={stop!r}: give a threading.Event; a program that is awaited is cancelled.")


def stoppable(stream: Stream, stop: Event) -> Stream:
    """Pass `stream` on until `stop` is set: then a wait ends, and none is begun.

    Raises:
        Stopped: it was set before the first command, or in a wait that follows no failure.
    """
    if stop.is_set():
        stream.close()
        raise Stopped("stopped before anything was asked")
    answer: Any = None
    failure: BaseException | None = None
    command: Any = None
    try:
        while True:
            command = stream.send(answer) if failure is None else stream.throw(failure)
            answer = failure = None
            try:
                if command.__class__ is Delay:
                    answer = yield from waited(command, stop)
                else:
                    answer = yield command
            except BaseException as error:
                failure = error
    except StopIteration as end:
        return end.value
    finally:  # an exception must not be kept alive by a frame in its own traceback
        failure = command = None


def waited(wait: Any, stop: Event) -> Stream:
    """Issue a wait, unless `stop` is set; it ends the wait, too."""
    try:
        if not stop.is_set():
            with ending_waits(stop):
                yield wait
        if stop.is_set():
            raise stopped(wait)
    finally:
        del wait


@contextmanager
def ending_waits(stop: Event) -> Generator[None]:
    """Have `stop` end what sleeps in this block."""
    before = STOPS.get()
    mine = (*before, stop)
    try:  # twice, since Ctrl-C may come at the beginning of a `finally`
        try:
            STOPS.set(mine)
            yield
        finally:
            leave(mine, before)
    finally:
        leave(mine, before)


def leave(mine: Stops, before: Stops) -> None:
    """Take back what was set; the collector may close a stream in another context."""
    if STOPS.get() is mine:
        STOPS.set(before)


def stopped(wait: Any) -> Exception:
    """Return what a program ends with that is stopped in this wait: the only place that says so.

    It is the failure that the wait follows, with a note.
    """
    failure: Exception | None = wait.failure
    wait.refuse("stopped")
    try:
        if failure is None:
            return Stopped("stopped in a wait")
        add_note(failure, f"{NOTE} not tried again: stopped")
        return failure
    finally:  # the failure must not be kept alive by a frame in its own traceback
        del failure, wait
