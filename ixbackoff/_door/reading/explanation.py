"""An explanation: what replaces the message of a type checker."""

from __future__ import annotations

from typing import NamedTuple


class Sketch(NamedTuple):
    """Rungs to draw.

    Attributes:
        start: where a program starts.
        end: where it ends.
        other: another rung, where it should end, or where the next program starts.
        said: what is said of that other rung.
    """

    start: int
    end: int
    other: int | None = None
    said: str = "and this would go on here"


class Explanation(NamedTuple):
    """The words in place of a message.

    Attributes:
        code: the name of the mistake; `ixbackoff explain CODE` says more.
        sentence: what is wrong.
        fix: what to write.
        ladder: what to draw, if the rungs are known.
    """

    code: str
    sentence: str
    fix: str
    ladder: Sketch | None = None


def counted(number: int, what: str) -> str:
    """Count things.

    >>> counted(1, "wait"), counted(2, "rung")
    ('1 wait', '2 rungs')
    """
    return f"{number} {what}{'' if number == 1 else 's'}"


def drawing(ladder: Sketch) -> list[str]:
    """Draw rungs, the highest first; of a long ladder only those that matter.

    >>> print(*drawing(Sketch(2, 1, other=2)), sep="\\n")
    N2   *    <- and this would go on here
    N1    *   <- it stands here
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
    """Say what happens on a rung."""
    said: list[str] = []
    if rung == ladder.end:
        said.append(
            "it stands here"
            if ladder.said.startswith("and") and ladder.other is not None
            else "it ends here"
        )
    if rung == ladder.other:
        said.append(ladder.said)
    return f" <- {', '.join(said)}" if said else ""
