"""Cleanups that Ctrl-C cannot prevent: where Ctrl-C strikes, and how to write a cleanup."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

# Ctrl-C raises KeyboardInterrupt wherever the main thread happens to be: inside an observer, right
# after its return, or on the way into a cleanup. Three things have to hold nevertheless: the mark
# of a run (see `nesting`) is cleared, or this thread could never retry again; each `Began` gets
# exactly one `Ended`; and the KeyboardInterrupt reaches the user.
#
# CPython checks for signals after a call, at a jump backward, and where a function begins or a
# generator resumes. Between two such places, assignments run without an interruption.
#
# Things that don't work:
#
# - One `finally` that calls a Python function. The signal may be seen where that function begins,
#   and then its body is skipped.
#
# - A flag that is set after the call of an observer. Ctrl-C may arrive between the two, and the
#   event would be delivered twice.
#
# - A mask of SIGINT during a cleanup. Only the main thread may install a handler, Windows has no
#   signal mask, and an observer that hangs could no longer be interrupted.
#
# What we do: an assignment clears the mark (`mine[0] = None`), so one `finally` that begins with it
# is enough. `Notifier.notify` records an event and then calls the observer, with no check for
# signals in between. A cleanup that has to call a Python function is written twice, in an inner
# and an outer `finally`, and does nothing the second time: `assigned` below, and `Notifier.end`.
#
# What remains: a second Ctrl-C can cut the outer `finally` short as well; and the `Answered` of a
# program's command can be lost, because only one `finally` delivers it. An observer written in
# Python counts as called even if Ctrl-C strikes where it begins. Debuggers and tracers can raise
# anywhere, so they may leave the mark of a run uncleared.

T = TypeVar("T")


@contextmanager
def assigned(variable: ContextVar[T], value: T) -> Generator[None]:
    """Set a context variable in this block; restore it even if Ctrl-C strikes at the end."""
    before = variable.get()
    try:
        try:
            variable.set(value)
            yield
        finally:
            restore(variable, value, before)
    finally:
        restore(variable, value, before)


def restore(variable: ContextVar[T], value: T, before: T) -> None:
    """Restore `before`, unless the garbage collector has closed a stream in another context."""
    if variable.get() is value:
        variable.set(before)
