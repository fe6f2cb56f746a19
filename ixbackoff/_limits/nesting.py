"""No retry in a retry, at run time: what may wait marks that it runs, and looks for such a mark.

The mark is in the context, so tasks and threads that a handler begins with a copy of its context
see it. A handler that runs something in another context is seen in its thread, where the stack of
frames has the last word: other tasks of an event loop, and greenlets, are not inside.
"""

from __future__ import annotations

import sys
from _thread import _local  # threading's own; threading itself costs 5 ms to import
from contextvars import ContextVar
from types import CodeType, FrameType
from typing import Any, TypeAlias

from .._words.commands import Misuse
from .eventloop import running

Mark: TypeAlias = list[object]
"""The program that runs; in its place is `None` when it is over, for all who have a copy."""

OVER: Mark = [None]


class Thread(_local):
    """The last sync run of this thread, by its mark, and whether an async one may be going on."""

    def __init__(self) -> None:
        self.last: list[Any] = [OVER, False]


RUNNING: ContextVar[Mark] = ContextVar("ixbackoff_running", default=OVER)
HERE = Thread()

BEGINNERS: dict[int, CodeType] = {}
"""The code of functions that run something that may wait, by its id, since its hash is slow."""


def begins(code: CodeType) -> None:
    """A function with this code runs something that may wait, and calls its mark `mine`."""
    BEGINNERS[id(code)] = code


def begin(mine: Mark, program: object, *, awaits: bool = False) -> None:
    """A program that may wait begins to run; no other one runs inside it until its `end`.

    The caller calls this in a `try`, and `end` in its `finally`, and once more around that, since
    Ctrl-C may come between any two instructions.

    Raises:
        Misuse: it is inside another one itself.
    """
    last = HERE.last
    if RUNNING.get()[0] is not None or last[0][0] is not None or last[1]:
        check_alone()
    mine[0] = program
    RUNNING.set(mine)
    if awaits:
        last[1] = True
    else:
        last[0] = mine


def end(mine: Mark) -> None:
    """It is over."""
    mine[0] = None


def check_alone() -> None:
    """Check that nothing that may wait runs around the caller.

    Raises:
        Misuse: something does.
    """
    if RUNNING.get()[0] is not None or runs_around():
        raise multiplied()
    HERE.last[1] = running() != (None, None)


def runs_around() -> bool:
    """Whether one of the `BEGINNERS` is on the stack, with something that runs."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if id(frame.f_code) in BEGINNERS and frame.f_locals.get("mine", OVER)[0] is not None:
            return True
        frame = frame.f_back
    return False


def check_begun(program: object) -> None:
    """Check that a stream of commands with waits is not answered inside another program.

    Raises:
        Misuse: it would be.
    """
    if getattr(program, "waits", False) is False:
        return
    last = HERE.last
    here = last[0][0] is not None or last[1]
    if RUNNING.get()[0] is not None or (here and runs_around()):
        raise multiplied()


def multiplied() -> Misuse:
    return Misuse(
        "What waits and tries again cannot run inside another one, or their retries would "
        "multiply: let the outer one alone try again."
    )
