"""The rungs of a program by adding and subtracting, without the library.

A `Piece` is what a program means: where it starts and its steps. `end` is the verdict that a type
checker has to come to; `put_together` the one that the library has to come to before a run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf
from typing import Any, NamedTuple

DEEPEST = 20
"""The highest rung of a ladder that ends."""

FOREVER = DEEPEST + 1
"""The rung of a ladder without end: it is above all others, and only `ENDING` steps leave it."""

WIDER = -1
"""Stands for a type in an annotation that is not one rung, or for one that nobody can read."""

STAYING = ("do", "then", "map", "or_else")
DESCENDING = ("wait", "backoff", "skip")
ENDING = ("retry", "resume", "retry_with", "end")
JOINING = (">>", "|", "bind", "or_bind")
WHEN_WELL = (">>", "bind")

ON = {
    "": ("Throttled",),
    "on=KeyError": ("KeyError",),
    "on=(Throttled, KeyError)": ("Throttled", "KeyError"),
    "on=Exception": ("Throttled", "KeyError", "TypeError"),
}
"""How `on` is written, and the failures that it chooses."""


@dataclass(frozen=True)
class Step:
    """A step of a program.

    Attributes:
        kind: the name of the step; "inline" for a piece that simply stands here, and "generic" for
            one that is written for every rung that is so high.
        commands: how many the effect issues.
        on: how the failures that it is for are written.
        piece: the program that it goes on with; or, wrongly, tries.
        times: how often an inline piece is repeated.
        late: whether the piece is made by a function, when the step is taken.
        says: the rungs where it has to start and to end, as it tells before a run: by the
            annotation of its function, or because the step is `at`.
        how: "all" for an effect whose commands are all begun again if one fails; "first" for one
            that is well with its first command that is.
    """

    kind: str
    commands: int = 0
    on: str = ""
    piece: Piece | None = None
    times: int = 1
    late: bool = False
    says: tuple[int, int] = (WIDER, WIDER)
    how: str = ""


@dataclass(frozen=True)
class Piece:
    """A program, or a part of one.

    Attributes:
        start: the rung where it starts.
        steps: its steps.
        declared: the rungs where it starts and ends according to its annotation, if it has one.
        beside: the branches that are written beside it and not taken.
        ready: whether it stands in a variable: it is then put together even if no step takes it.
    """

    start: int
    steps: tuple[Step, ...] = ()
    declared: tuple[int, int] | None = None
    beside: tuple[Piece, ...] = ()
    ready: bool = False

    def then(self, step: Step) -> Piece:
        """This piece and one step more."""
        if self.declared is None and not self.beside and not self.ready:
            return replace(self, steps=(*self.steps, step))
        return Piece(self.start, (Step("inline", piece=self), step))

    def inner(self) -> Iterator[Piece]:
        """The pieces that are written directly within it."""
        yield from self.beside
        for step in self.steps:
            if step.piece is not None:
                yield step.piece


class IllFormed(Exception):
    """The rungs of a program do not fit."""


class Nested(IllFormed):
    """A program is tried in another one."""


def end(piece: Piece) -> int:
    """The rung where a piece ends, if every part of it is as its types say.

    Raises:
        IllFormed: it goes up, jumps down, waits past the last rung, tries a program, or is not
            what its annotation says.
    """
    rung = piece.start
    for step in piece.steps:
        rung = below(step, rung)
    if any((other.start, end(other)) != (piece.start, rung) for other in piece.beside):
        raise IllFormed
    if piece.declared not in (None, (piece.start, rung)):
        raise IllFormed
    return rung


def below(step: Step, rung: int) -> int:
    """The rung after one step that is taken at `rung`.

    Raises:
        IllFormed: it cannot be taken there.
    """
    if step.piece is None:
        if step.kind in ENDING:
            return 0
        if step.kind == "at" and step.says != (rung, rung):
            raise IllFormed
        return one_down(rung) if step.kind in DESCENDING else rung
    if step.kind == "generic":
        if end(step.piece) != 0:
            raise IllFormed
        for _ in range(step.piece.start):
            rung = one_down(rung)
        return rung
    if step.kind not in (*JOINING, "inline"):
        raise Nested
    if step.piece.start != rung:
        raise IllFormed
    return end(step.piece)


def one_down(rung: int) -> int:
    """The rung below this one.

    Raises:
        IllFormed: there is none.
    """
    if rung in (0, FOREVER):
        raise IllFormed
    return rung - 1


class Place(NamedTuple):
    """A rung, or the highest that it can be where only the run of a function tells it."""

    highest: int
    known: bool


def put_together(piece: Piece) -> Place:
    """Where a program ends, as far as the library knows it before a run.

    Raises:
        IllFormed: its fault shows when it is put together: it is not within a function.
    """
    for part in standing_ready(piece):
        along(part.steps, Place(part.start, known=True))
    return along(piece.steps, Place(piece.start, known=True))


def standing_ready(piece: Piece) -> Iterator[Piece]:
    """All pieces that stand in variables, however deep they are used."""
    for inner in piece.inner():
        if inner.ready:
            yield inner
        yield from standing_ready(inner)


def along(steps: tuple[Step, ...], place: Place) -> Place:
    """Where one stands after these steps."""
    for step in steps:
        if step.kind in ("inline", "generic"):
            assert step.piece is not None
            place = along(step.piece.steps * step.times, place)
        elif step.kind in (*JOINING, "at"):
            place = joined(step, place)
        elif step.piece is not None and not step.late:
            raise Nested
        elif step.kind in DESCENDING:
            place = place._replace(highest=one_down(place.highest))
        elif step.kind in ENDING:
            place = Place(0, known=True)
    return place


def joined(step: Step, place: Place) -> Place:
    """Where one stands after a join, or after `at`.

    Raises:
        IllFormed: its piece starts elsewhere, or says that it ends farther up.
    """
    start, after = told(step)
    if place.known and start not in (WIDER, place.highest):
        raise IllFormed
    if after.known:
        if after.highest > (place.highest if start == WIDER else min(place.highest, start)):
            raise IllFormed
        return after
    return Place(min(place.highest, after.highest), known=False)


def told(step: Step) -> tuple[int, Place]:
    """Where the piece of a join starts and ends, as far as the library knows it before a run.

    It knows a piece that is given as it is, and of a function the annotation.

    Raises:
        IllFormed: the piece itself is.
    """
    if step.piece is not None and not step.late:
        return step.piece.start, along(step.piece.steps, Place(step.piece.start, known=True))
    start, end = step.says
    return start, Place(FOREVER if end == WIDER else end, known=end != WIDER)


def functions(piece: Piece) -> Iterator[Piece]:
    """The pieces that functions make, which only a run comes to."""
    for step in piece.steps:
        if step.piece is not None:
            if step.late:
                yield step.piece
            yield from functions(step.piece)


def hidden(piece: Piece, entered: set[int]) -> bool:
    """Whether what is wrong with a piece may be nothing that a run comes to.

    It is in an annotation, in a branch that is not taken, or in a function that was not `entered`;
    or the piece is open, which shows in a run that is well and knows its rung.
    """
    if any(id(function) not in entered for function in functions(piece)):
        return True
    try:
        end(erased(piece))
    except IllFormed:
        return False
    return True


def erased(piece: Piece) -> Piece:
    """A piece as the library sees it: without annotations and without branches not taken."""
    steps: list[Step] = []
    for step in piece.steps:
        if step.piece is None:
            steps.append(step)
        elif step.kind in ("inline", "generic"):
            steps += erased(step.piece).steps * step.times
        else:
            steps.append(replace(step, piece=erased(step.piece)))
    return Piece(piece.start, tuple(steps))


def most_waits(piece: Piece) -> float:
    """How often a program that starts there may wait."""
    return inf if piece.start == FOREVER else piece.start


def most_tries(piece: Piece, typed: bool) -> Counter[int]:
    """How often each step of a right piece, by its identity, may try its effect at most.

    Args:
        typed: whether its rungs are those of its types. Otherwise they are as the library knows
            them: behind a function that was passed over, they may be higher.
    """
    most: Counter[int] = Counter()
    _count_tries(piece.steps, Place(piece.start, known=True), typed, most)
    return most


def _count_tries(steps: tuple[Step, ...], place: Place, typed: bool, most: Counter[int]) -> None:
    for step in steps:
        if step.piece is not None:
            inner = step.kind in ("inline", "generic")
            start = place if inner else Place(step.piece.start, known=True)
            _count_tries(step.piece.steps * step.times, start, typed, most)
        tries: Any = 1
        if step.kind in ENDING:
            tries = inf if place.highest == FOREVER else place.highest + 1
        most[id(step)] += tries
        place = Place(below(step, place.highest), True) if typed else along((step,), place)
