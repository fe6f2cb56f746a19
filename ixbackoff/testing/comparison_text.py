"""Comparisons of two plans or two traces, side by side, for the messages of failed tests."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from .._meaning.planning import Plan
from .._running.traces import Performed
from .._words.commands import Command
from .virtual import Waited, stable

WIDEST = 60  # characters in a line on the left


def compared(left: object, right: object) -> list[str] | None:
    """Write two plans, or two traces, side by side, and mark the lines that differ.

    A trace is a list or tuple of commands, or of `Performed`. Returns `None` for other objects. The
    first line says in words what the test asserts.
    """
    if isinstance(left, Plan) and isinstance(right, Plan):
        return beside("plans", str(left).splitlines(), str(right).splitlines())
    if is_trace(left) and is_trace(right) and (left or right):
        return beside("traces", lines_of(left), lines_of(right))
    return None


def is_trace(given: Any) -> bool:
    kind: type = given.__class__
    kinds = (Command, Performed, Waited)
    return issubclass(kind, list | tuple) and all(isinstance(one, kinds) for one in given)


def lines_of(trace: Any) -> list[str]:
    return [" ".join(stable(str(one)).split()) for one in trace]


def beside(what: str, left: Sequence[str], right: Sequence[str]) -> list[str]:
    from difflib import SequenceMatcher

    cut = [line if len(line) <= WIDEST else f"{line[: WIDEST - 3]}..." for line in left]
    wide = max(map(len, cut), default=0)
    rows: list[str] = []
    pieces = SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
    for kind, begin, end, other_begin, other_end in pieces:
        mark = " " if kind == "equal" else "!"
        lines = zip_longest(cut[begin:end], right[other_begin:other_end], fillvalue="")
        rows += [f"{mark} {written:{wide}}  | {other}".rstrip() for written, other in lines]
    if list(left) == list(right):
        rows.append("They read the same, but their values differ.")
    return [f"these {what} are the same", *rows]
