"""Plays a program as the table of meanings says, with integers only and without the library."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import NamedTuple, TypeAlias

from .arithmetic import (
    DEEPEST,
    DESCENDING,
    ENDING,
    FOREVER,
    JOINING,
    ON,
    WHEN_WELL,
    WIDER,
    IllFormed,
    Nested,
    Piece,
    Place,
    Step,
    along,
    joined,
    one_down,
    told,
)


class Failure(NamedTuple):
    """How a command fails.

    Attributes:
        kind: the name of the exception.
        seconds: for how long the service asks to be left alone.
    """

    kind: str
    seconds: float = 0.0


Script: TypeAlias = Callable[[int], Failure | None]
"""How the n-th command of a run fails; `None` if it does not."""

FAILURES = (None, Failure("Throttled"), Failure("Throttled", 5.0), Failure("KeyError"))


def mixture(seed: int, *weights: int) -> Script:
    """Outcomes at random, with these weights for each of `FAILURES`."""
    outcomes = Random(seed).choices(FAILURES, weights, k=997)  # noqa: S311
    return lambda n: outcomes[n % len(outcomes)]


SCRIPTS: dict[str, Script] = {
    "all are well": lambda n: None,
    "all fail": lambda n: Failure("Throttled"),
    "some fail": mixture(1, 1, 1, 0, 0),
    "some ask to be left alone": mixture(2, 1, 1, 2, 0),
    "some fail otherwise": mixture(3, 2, 2, 0, 1),
    "some fail, later others": mixture(4, 1, 2, 0, 0),
}


PATIENCE = 30
"""After so many commands those of a ladder without end are well, or it would run for ever."""


def script_for(piece: Piece, name: str) -> Script:
    """The script of this name; one that comes to an end, if the ladder has none."""
    script = SCRIPTS[name]
    if piece.start != FOREVER:
        return script
    return lambda n: script(n) if n < PATIENCE else None


@dataclass(frozen=True)
class Outcome:
    """What a run came to.

    Attributes:
        failure: the name of the exception that it raised; "" if it was well.
        calls: how many commands were issued, without the waits.
        waits: the seconds of each wait.
    """

    failure: str
    calls: int
    waits: list[float]


class Machine:
    """One run of a program.

    Where a function was passed over whose annotation does not tell where its program would have
    ended, nobody knows it: from then on `rung` is the highest that it can be (`sure` is false),
    until `at` or a program says where it starts.

    Attributes:
        tries: how often each step, by its identity, has tried its effect.
        entered: the pieces that functions made, by their identity.
        trusted: whether it came to something wrong that no run can tell from what is right: a
            piece that starts at an unsure rung or below it.
    """

    def __init__(self, top: int, script: Script) -> None:
        self.top = self.rung = top
        self.sure = True
        self.failed: Failure | None = None
        self.calls = 0
        self.tries: Counter[int] = Counter()
        self.waits: list[float] = []
        self.script = script
        self.entered: set[int] = set()
        self.trusted = False

    def outcome(self, piece: Piece) -> Outcome:
        """Play it from its start to its end.

        Raises:
            IllFormed: it comes to a step that cannot be, or to an end that is not the last rung.
        """
        self.play(piece.steps)
        if self.rung and self.sure and self.failed is None:
            raise IllFormed
        return Outcome("" if self.failed is None else self.failed.kind, self.calls, self.waits)

    def play(self, steps: tuple[Step, ...]) -> None:
        for step in steps:
            if step.kind in ("do", "then"):
                if self.failed is None:
                    self.perform(step, 0)
            elif step.kind == "or_else":
                if self.chosen(step):
                    self.perform(step, 0)
            elif step.kind in DESCENDING:
                well = step.kind == "wait" and self.failed is None
                self.descend(well or (step.kind == "backoff" and self.chosen(step)))
            elif step.kind in ENDING:
                self.end(step)
            elif step.kind in ("inline", "generic"):
                assert step.piece is not None
                self.play(step.piece.steps * step.times)
            elif step.kind == "at":
                self.pass_over(step)
            elif step.kind in JOINING:
                self.join(step)

    def chosen(self, step: Step) -> bool:
        """Whether there is a failure that the step is for."""
        return self.failed is not None and self.failed.kind in ON[step.on]

    def perform(self, step: Step, done: int) -> int:
        """Issue the commands of an effect but the first `done`; how many need no further try."""
        self.tries[id(step)] += 1
        if step.piece is not None:
            self.entered.add(id(step.piece))
            raise Nested
        self.failed = None
        for number in range(done, step.commands):
            self.calls += 1
            self.failed = self.script(self.calls - 1)
            if step.how == "first":
                last = number == step.commands - 1
                if last or self.failed is None or self.failed.kind not in ON[""]:
                    return number
            elif self.failed is not None:
                return 0 if step.how == "all" else number
        return step.commands

    def descend(self, waits: bool) -> None:
        below = one_down(self.rung)
        if waits:
            self.wait(self.top - self.rung)
        self.rung = below

    def wait(self, number: int) -> None:
        """Wait: longer each time, as long as the service asked for, and no shorter than before."""
        asked = 0.0 if self.failed is None else self.failed.seconds
        self.waits.append(max(2.0**number, asked, *self.waits[-1:]))

    def end(self, step: Step) -> None:
        if step.kind != "end" and self.failed is None:
            done = self.perform(step, 0)
            while self.chosen(step) and self.rung:
                if self.rung == FOREVER:
                    self.wait(min(len(self.waits), DEEPEST - 1))
                else:
                    self.descend(True)
                done = self.perform(step, done if step.kind == "resume" else 0)
        self.rung, self.sure = 0, True

    def join(self, step: Step) -> None:
        """Go on with the piece of a step, or pass it over."""
        piece = step.piece
        assert piece is not None
        taken = self.failed is None if step.kind in WHEN_WELL else self.chosen(step)
        before = Place(self.rung, self.sure)
        self.pass_over(step)
        if not taken:
            return
        place = along(piece.steps, Place(piece.start, known=True))
        if piece.start > before.highest or (before.known and piece.start < before.highest):
            raise IllFormed
        _, promised = told(step)
        if promised.known and place.known and promised != place:
            raise IllFormed
        self.trusted |= not before.known
        self.entered.add(id(piece))
        self.rung, self.sure = piece.start, True
        self.failed = None
        self.play(piece.steps)
        if promised.known and not self.sure:
            self.rung, self.sure = min(self.rung, promised.highest), True

    def pass_over(self, step: Step) -> None:
        """Go as far down as the piece of a step says that it goes, or stay where `at` says.

        It is sure of its rung again behind what tells where it starts, or where it ends.
        """
        start, _ = told(step)
        place = Place(self.rung, self.sure)
        if start != WIDER and not self.sure:
            self.trusted |= start <= self.rung
            place = Place(min(self.rung, start), known=True)
        after = joined(step, place)
        self.rung, self.sure = min(after.highest, place.highest), after.known
