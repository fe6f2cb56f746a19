"""The drawing of a ladder in an explanation."""

from __future__ import annotations

from typing import NamedTuple

NEXT_START = "the next program would start here"


class Sketch(NamedTuple):
    """The rungs of a drawn program; `other`: where it should end, or the next program starts."""

    start: int
    end: int
    other: int | None = None
    note: str = NEXT_START


def drawing(ladder: Sketch) -> list[str]:
    """Draw the rungs downwards; if the top is above N8, only the top, start, end, `other` and N0.

    >>> print(*drawing(Sketch(2, 1, other=2)), sep="\\n")
    N2   *    <- the next program would start here
    N1    *   <- the program is here
    N0
    """
    top = max(ladder.start, ladder.other or 0)
    some = {0, top, ladder.start, ladder.end, top if ladder.other is None else ladder.other}
    shown = some if top > 8 else range(top + 1)
    width = 5 + min(ladder.start - ladder.end, 8) + 3
    lines: list[str] = []
    above = top
    for rung in sorted(shown, reverse=True):
        if rung < above - 1:
            lines.append("...")
        above = rung
        on_the_way = ladder.end <= rung <= ladder.start
        step = min(ladder.start - rung, 8)
        line = f"N{rung:<4}{' ' * step}*" if on_the_way else f"N{rung}"
        lines.append(f"{line:{width}}{note(ladder, rung)}".rstrip())
    return lines


def note(ladder: Sketch, rung: int) -> str:
    notes: list[str] = []
    if rung == ladder.end:
        joined = ladder.other is not None and ladder.note == NEXT_START
        notes.append("the program is here" if joined else "it ends here")
    if rung == ladder.other:
        notes.append(ladder.note)
    return f" <- {', '.join(notes)}" if notes else ""
