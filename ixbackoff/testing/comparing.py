"""Comparisons of two plans or two traces, side by side, for the messages of failed tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .._meaning.planning import Plan
from .._running.traces import Performed
from .._words.commands import Command
from .virtual import Waited, stable

WIDEST = 60  # characters in a line on the left


def compared(left: object, right: object) -> list[str] | None:
    """Write two plans, or two traces, side by side, and mark the lines that differ.

    A trace is a list of commands or of `Performed`. Returns `None` for other objects. The first
    line is the assertion of the test, in words.

    >>> from ixbackoff import N1, N2, Log, at, plan
    >>> once_more, twice_more = (plan(at(rung).retry(Log("try"))) for rung in (N1, N2))
    >>> print("\\n".join(compared(once_more, twice_more) or []))
    these plans are the same
      rung  tries    then waits  if      | rung  tries    then waits  if
    ! N1        1           1 s  failed  | N2        1           1 s  failed
    !                                    | N1        1           2 s  failed
      N0        1             -          | N0        1             -
    ! at most 2 tries, 1 wait, 1 s       | at most 3 tries, 2 waits, 3 s
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
    cut = [line if len(line) <= WIDEST else f"{line[: WIDEST - 3]}..." for line in left]
    wide = max(map(len, cut), default=0)
    rows: list[str] = []
    for first, second in matched(left, right):
        same = first is not None and second is not None and left[first] == right[second]
        written = "" if first is None else cut[first]
        other = "" if second is None else right[second]
        rows.append(f"{' ' if same else '!'} {written:{wide}}  | {other}".rstrip())
    if list(left) == list(right):
        rows.append("They read the same, but their values differ.")
    return [f"these {what} are the same", *rows]


def matched(left: Sequence[str], right: Sequence[str]) -> Iterator[tuple[int | None, int | None]]:
    """Yield, for each row, the index of its line on the left and on the right."""
    from difflib import SequenceMatcher

    pieces = SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
    for _, begin, end, other_begin, other_end in pieces:
        for row in range(max(end - begin, other_end - other_begin)):
            yield (
                begin + row if begin + row < end else None,
                other_begin + row if other_begin + row < other_end else None,
            )
