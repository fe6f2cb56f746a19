"""Soundness by experiment: what mypy says of random chains is right, and so are their waits.

Integers say what is right. The rungs of a chain are worked out by adding and subtracting (`end`),
and its waits by a small machine of its own (`Machine`); neither knows the library.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest

from ixbackoff import Download, Throttled, plan
from ixbackoff.testing import Virtual

from ..support.typecheckers import MYPY

CHAINS = 2300
SEED = 2021

STAYING = ("do", "then", "map", "or_else")
DESCENDING = ("wait", "backoff", "skip")
ENDING = ("retry", "resume", "give_up")
JOINING = (">>", "|", "bind", "or_bind")
WHEN_WELL = (">>", "bind")

EFFECTS = {"one": 1, "two": 2}
"""The effects that chains try, and how many commands each issues."""

HEAD = """\
from ixbackoff import *
from ixbackoff import Do
Row = Download | Delay
one = Download("http://localhost/1", "1")
@attempt
def made() -> Do[Download, None]:
    yield from one
    yield from one
two = made()
interpreter = Download.handled_by(lambda command: None) | Delay.handled_by(lambda command: None)
"""


@dataclass(frozen=True)
class Step:
    """A step of a chain: with an effect, with a piece, or with neither.

    Attributes:
        form: whether the piece is given as it is ("piece"), or by a "function".
        named: whether the piece, or the function, has a name of its own.
    """

    kind: str
    effect: str = ""
    piece: Piece | None = None
    form: str = ""
    named: bool = False


@dataclass(frozen=True)
class Piece:
    """A chain: where it starts, and its steps."""

    start: int
    steps: tuple[Step, ...]


class IllFormed(Exception):
    """A chain that has to be rejected because of its rungs."""


class Nested(IllFormed):
    """A chain that has to be rejected because it tries a program."""


def end(piece: Piece) -> int:
    """The rung where a chain ends, by plain arithmetic.

    Raises:
        IllFormed: it goes up, jumps down, or waits past the last rung.
    """
    rung = piece.start
    for step in piece.steps:
        if step.piece is not None and step.kind not in JOINING:
            raise Nested
        if step.kind in DESCENDING:
            if rung == 0:
                raise IllFormed
            rung -= 1
        elif step.kind in ENDING:
            rung = 0
        elif step.piece is not None:
            if step.piece.start != rung:
                raise IllFormed
            rung = end(step.piece)
    return rung


def nominal(piece: Piece) -> int:
    """The rung where a chain ends, or 0 where it is ill formed."""
    try:
        return end(piece)
    except IllFormed:
        return 0


class Maker:
    """Makes random chains, well and ill formed, a tenth of them high up on the ladder."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311

    def chain(self) -> Piece:
        deep = self.random.random() < 0.1
        return self.piece(self.random.randint(15, 20) if deep else self.random.randint(0, 5), 2)

    def piece(self, start: int, nesting: int) -> Piece:
        """A chain from `start` on, with pieces in it that nest so deep."""
        steps: list[Step] = []
        rung = start
        for _ in range(self.random.randint(1, 4)):
            step = self.step(rung, nesting)
            steps.append(step)
            rung = nominal(Piece(rung, (step,)))
        if nesting == 2 and rung and self.random.random() < 0.7:
            last = self.random.choice(
                [Step("give_up"), Step("retry", "two"), Step("resume", "two")]
            )
            steps.append(last)
        return Piece(start, tuple(steps))

    def step(self, rung: int, nesting: int) -> Step:
        mistaken = self.random.random() < 0.12
        kinds = [*STAYING, "do", "or_else"]
        if rung or mistaken:
            kinds += DESCENDING * 2
        if nesting:
            kinds += JOINING * 2
        if self.random.random() < 0.15:
            kinds += ENDING * 2
        kind = self.random.choice(kinds)
        if kind in JOINING:
            start = self.random.choice([rung, rung + 1, max(rung - 1, 0)]) if mistaken else rung
            form = "piece" if kind in (">>", "|") else "function"
            piece = self.piece(min(start, 20), nesting - 1)
            return Step(kind, "", piece, form, named=self.random.random() < 0.5)
        if kind in ("map", "give_up", *DESCENDING):
            return Step(kind)
        if nesting and self.random.random() < 0.01:
            form = "function" if kind == "then" else "piece"
            return Step(kind, "", self.piece(rung, 0), form)
        return Step(kind, self.random.choice(list(EFFECTS)))


class Text:
    """A chain as Python: lines that hold its pieces, and the expression that is the chain."""

    def __init__(self, piece: Piece, number: int) -> None:
        self.lines: list[str] = []
        self.names: Iterator[str] = (f"piece_{number}_{n}" for n in count())
        self.expression = self.written(piece, inside=False)

    def written(self, piece: Piece, inside: bool) -> str:
        """The expression of a chain; `inside` a function, where variables would be outside."""
        text = f"at(N{piece.start})"
        for step in piece.steps:
            text = self.longer(text, step, inside)
        return text

    def longer(self, text: str, step: Step, inside: bool) -> str:
        kind, effect = step.kind, step.effect
        if step.piece is not None:
            effect = self.written(step.piece, inside or step.form == "function")
            if step.form == "piece":
                effect = self.variable(effect) if step.named and not inside else effect
            elif step.named:
                effect = self.function(effect, step)
            else:
                effect = f"lambda _: {effect}"
        if kind in (">>", "|"):
            return f"({text} {kind} {effect})"
        if kind == "then" and step.piece is None:
            effect = f"lambda _: {effect}"
        if kind == "map":
            effect = "lambda value: value"
        return f"{text}.{kind}({effect})"

    def variable(self, expression: str) -> str:
        name = next(self.names)
        self.lines.append(f"{name} = {expression}")
        return name

    def function(self, expression: str, step: Step) -> str:
        assert step.piece is not None
        name = next(self.names)
        given = "object" if step.kind == "bind" else "Exception"
        rungs = f"N{step.piece.start}, N{nominal(step.piece)}"
        self.lines.append(f"def {name}(_: {given}) -> Program[{rungs}, None, Row]:")
        self.lines.append(f"    return {expression}")
        return name


@dataclass
class Chain:
    """A chain, its text, and what is right about it."""

    number: int
    piece: Piece
    end: int | None = None
    nested: bool = False
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        try:
            self.end = end(self.piece)
        except IllFormed as error:
            self.nested = isinstance(error, Nested)
        text = Text(self.piece, self.number)
        self.lines = [*text.lines, f"chain_{self.number} = {text.expression}"]

    @property
    def runnable(self) -> bool:
        return self.end == 0

    def __str__(self) -> str:
        return "\n".join(self.lines)


Script: TypeAlias = Callable[[int], bool]
"""Whether the n-th command of a run succeeds."""


def mixture(seed: int) -> Script:
    chance = random.Random(seed)  # noqa: S311
    outcomes = [chance.random() < 0.5 for _ in range(997)]
    return lambda n: outcomes[n % len(outcomes)]


SCRIPTS: dict[str, Script] = {
    "all succeed": lambda n: True,
    "all fail": lambda n: False,
    "the first succeeds": lambda n: n == 0,
    "the first fails": lambda n: n > 0,
    **{f"mixture {seed}": mixture(seed) for seed in range(4)},
}


@dataclass(frozen=True)
class Outcome:
    """What a run came to."""

    failed: bool
    calls: int
    waits: list[float]


class Machine:
    """Plays a chain as the table of meanings says, with integers only.

    Where a function was passed over, nobody knows where its program would have ended: from then on
    `rung` is the highest that it can be (`sure` is false), until a program says where it starts.
    """

    def __init__(self, top: int, script: Script) -> None:
        self.top = self.rung = top
        self.sure = True
        self.failed = False
        self.calls = 0
        self.waits: list[float] = []
        self.script = script
        self.entered: set[int] = set()

    def play(self, piece: Piece) -> None:
        for step in piece.steps:
            if step.kind in ("do", "then"):
                if not self.failed:
                    self.perform(step, 0)
            elif step.kind == "or_else":
                if self.failed:
                    self.perform(step, 0)
            elif step.kind in DESCENDING:
                self.descend(self.failed if step.kind == "backoff" else not self.failed, step)
            elif step.kind in ENDING:
                self.try_on(step)
            elif step.piece is not None:
                self.join(step, step.piece)

    def perform(self, step: Step, done: int) -> int:
        """Issue the commands of an effect but the first `done`; how many have succeeded."""
        if step.piece is not None:
            self.entered.add(id(step.piece))
            raise Nested
        self.failed = False
        for number in range(done, EFFECTS[step.effect]):
            self.calls += 1
            if not self.script(self.calls - 1):
                self.failed = True
                return number
        return EFFECTS[step.effect]

    def descend(self, waits: bool, step: Step) -> None:
        if self.rung == 0:
            raise IllFormed
        if waits and step.kind != "skip":
            self.waits.append(2.0 ** (self.top - self.rung))
        self.rung -= 1

    def try_on(self, step: Step) -> None:
        if step.kind != "give_up" and not self.failed:
            done = self.perform(step, 0)
            while self.failed and self.rung:
                self.descend(True, step)
                done = self.perform(step, done if step.kind == "resume" else 0)
        self.rung, self.sure = 0, True

    def join(self, step: Step, piece: Piece) -> None:
        told = step.kind in (">>", "|")
        taken = self.failed != (step.kind in WHEN_WELL)
        if told or taken:
            if piece.start > self.rung or (self.sure and piece.start < self.rung):
                raise IllFormed
            self.rung, self.sure = piece.start, True
        if taken:
            self.entered.add(id(piece))
            self.failed = False
            put_together(piece)
            self.play(piece)
        else:
            place = put_together(piece) if told else Place(self.rung, known=False)
            self.rung, self.sure = place.highest, place.known


class Place(NamedTuple):
    """A rung, or the highest that it can be where a function's program tells it."""

    highest: int
    known: bool


def put_together(piece: Piece) -> Place:
    """Where a piece ends, as far as that is known before it runs.

    Raises:
        IllFormed: its fault shows when it is put together: it is not within a function.
    """
    place = Place(piece.start, known=True)
    for step in piece.steps:
        if step.form == "function":
            place = place._replace(known=False) if step.kind in JOINING else place
        elif step.kind in DESCENDING:
            if place.highest == 0:
                raise IllFormed
            place = place._replace(highest=place.highest - 1)
        elif step.piece is not None:
            if step.kind not in JOINING:
                raise Nested
            inner = put_together(step.piece)
            if place.known and place.highest != step.piece.start:
                raise IllFormed
            place = inner if inner.known else Place(min(place.highest, inner.highest), known=False)
        elif step.kind in ENDING:
            place = Place(0, known=True)
    return place


def functions(piece: Piece) -> Iterator[int]:
    """The pieces, by their identity, that stand in functions."""
    for step in piece.steps:
        if step.piece is not None:
            if step.form == "function":
                yield id(step.piece)
            yield from functions(step.piece)


def foreseen(chain: Chain, script: Script) -> Outcome:
    machine = Machine(chain.piece.start, script)
    machine.play(chain.piece)
    return Outcome(machine.failed, machine.calls, machine.waits)


def built(chain: Chain) -> Any:
    """The chain as the library builds it."""
    names = dict(LIBRARY)
    exec(str(chain), names)  # noqa: S102
    return names[f"chain_{chain.number}"]


def performed(program: Any, script: Script) -> Outcome:
    """What came of it when the library ran it, in virtual time."""
    calls: list[Download] = []

    def download(command: Download) -> None:
        calls.append(command)
        if not script(len(calls) - 1):
            raise Throttled

    world = Virtual(Download.handled_by(download))
    try:
        program.run(world.interpreter)
    except Throttled:
        return Outcome(True, len(calls), world.waits)
    return Outcome(False, len(calls), world.waits)


LIBRARY: dict[str, Any] = {}
exec(HEAD, LIBRARY)  # noqa: S102
MAKER = Maker(SEED)
MADE = [Chain(number, MAKER.chain()) for number in range(CHAINS)]


def test_the_experiment_is_large_and_mixed() -> None:
    assert len({str(chain).replace(f"_{chain.number}", "") for chain in MADE}) > 2000
    assert sum(chain.runnable for chain in MADE) > 1000
    assert sum(chain.end is not None and not chain.runnable for chain in MADE) > 150
    assert sum(chain.end is None and not chain.nested for chain in MADE) > 500
    assert sum(chain.nested for chain in MADE) > 20
    assert sum(chain.piece.start >= 15 for chain in MADE) > 150
    assert sum(any(functions(chain.piece)) for chain in MADE) > 1000


def test_mypy_agrees_on_every_chain(tmp_path: Path) -> None:
    lines = HEAD.splitlines()
    places: list[tuple[Chain, list[int]]] = []
    for chain in MADE:
        first = len(lines) + 1
        name, declared = f"chain_{chain.number}", f"N{chain.piece.start}, N{chain.end or 0}"
        lines += chain.lines
        lines.append(f"rungs_{chain.number}: Program[{declared}, None, Row] = {name}")
        lines.append(f"{name}.run(interpreter)")
        places.append((chain, list(range(first, len(lines) + 1))))
    file = tmp_path / "chains.py"
    file.write_text("\n".join(lines) + "\n")
    reported = {line for line, _ in MYPY.check([file], tmp_path)[file]}
    assert not reported.intersection(range(len(HEAD.splitlines()) + 1))
    wrong = []
    for chain, numbers in places:
        *building, rungs, run = numbers
        accepted = reported.isdisjoint(building)
        if accepted != (chain.end is not None):
            wrong.append(f"accepted: {accepted}\n{chain}")
        elif accepted and rungs in reported:
            wrong.append(f"does not end at N{chain.end}\n{chain}")
        elif accepted and (run not in reported) != chain.runnable:
            wrong.append(f"runnable, but ends at N{chain.end}\n{chain}")
    assert not wrong, f"{len(wrong)} of {len(MADE)}\n" + "\n".join(wrong[:5])


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=list(SCRIPTS))
def test_every_accepted_chain_waits_as_foreseen(script: Script) -> None:
    for chain in MADE:
        if chain.runnable:
            program = built(chain)
            outcome, planned = performed(program, script), plan(program)
            assert outcome == foreseen(chain, script), f"\n{chain}"
            assert len(outcome.waits) <= planned.waits, f"\n{chain}"
            assert sum(outcome.waits) <= planned.seconds, f"\n{chain}"
            assert outcome.waits == sorted(outcome.waits), f"\n{chain}"
            assert len(outcome.waits) <= chain.piece.start, f"\n{chain}"


def test_every_open_chain_is_refused_at_run_time() -> None:
    for chain in MADE:
        if chain.end and put_together(chain.piece).known:
            with pytest.raises(TypeError, match="is open"):
                performed(built(chain), SCRIPTS["all succeed"])


def test_every_ill_formed_chain_is_refused_at_run_time() -> None:
    """When it is put together; or, with its fault in a function, in a run that comes to it."""
    for chain in MADE:
        if chain.end is None:
            try:
                put_together(chain.piece)
            except IllFormed:
                with pytest.raises(TypeError):
                    built(chain)
            else:
                entered = refused_in_runs(chain)
                assert entered is None or set(functions(chain.piece)) - entered, f"\n{chain}"


def refused_in_runs(chain: Chain) -> set[int] | None:
    """Nothing, if the library refuses a run of the chain; else the functions that have run."""
    program = built(chain)
    refused = False
    entered: set[int] = set()
    for script in SCRIPTS.values():
        machine = Machine(chain.piece.start, script)
        try:
            machine.play(chain.piece)
        except IllFormed:
            with pytest.raises(TypeError):
                performed(program, script)
            refused = True
            continue
        entered |= machine.entered
        try:
            outcome = performed(program, script)
        except TypeError:  # it has not come down to N0
            refused = True
        else:
            assert outcome.waits == sorted(outcome.waits), f"\n{chain}"
            assert len(outcome.waits) <= chain.piece.start, f"\n{chain}"
    return None if refused else entered
