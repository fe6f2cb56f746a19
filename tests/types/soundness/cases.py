"""Random programs of all shapes, each with its text and its verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from random import Random

from . import shapes_of_chains, shapes_of_classes, shapes_of_flow, shapes_of_functions
from .arithmetic import IllFormed, Piece, end
from .making import MISTAKES, RARE, Maker, Part, annotation

SEED = 2021
ROOMS = (shapes_of_chains, shapes_of_functions, shapes_of_classes, shapes_of_flow)

SHAPES: dict[str, Callable[[Maker], Part]] = {
    name: shape
    for room in ROOMS
    for name, shape in vars(room).items()
    if getattr(shape, "__module__", "") == room.__name__
}
"""The ways in which programs are written, by name."""

HEAD = """\
from __future__ import annotations
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, reduce, wraps
from typing import Generic, Literal, NamedTuple, ParamSpec, Protocol, TypeAlias, TypedDict
from typing import TypeVar, overload
from ixbackoff import *
from ixbackoff.durable import durable

Row: TypeAlias = Download | Delay | Now | Pick | Call[None]
I = TypeVar("I", bound=Nat)
O = TypeVar("O", bound=Nat)
J = TypeVar("J", bound=Nat)
N = TypeVar("N", bound=Nat)
P = ParamSpec("P")
one = Download("http://localhost/1", "1")

@attempt
def some(times: int) -> Do[Download, None]:
    for _ in range(times):
        yield from one

two = some(2)
calm = CircuitBreaker(failures=1000, within=1, open_for=1)

def drop(answers: object) -> None:
    pass

def ask() -> None:
    pass

def flag() -> bool:
    return True

def number() -> int:
    return 1

"""


@dataclass(frozen=True)
class Case:
    """A program of a shape, with one mistake or none.

    Attributes:
        number: its place among all.
        shape: the name of its shape.
        mistake: the mistake that was made on purpose; "" if none was.
        piece: what it means.
        lines: it as text: a function `case_<number>`, and one that runs it.
        awaited: whether it is run by `run_async`.
    """

    number: int
    shape: str
    mistake: str
    piece: Piece
    lines: tuple[str, ...]
    awaited: bool

    @cached_property
    def right(self) -> bool:
        """Whether it has to be accepted, as the arithmetic says."""
        try:
            return end(self.piece) == 0
        except IllFormed:
            return False

    def __str__(self) -> str:
        verdict = f"to be rejected: {self.mistake}" if self.mistake else "to be accepted"
        return "\n".join([f"# {self.number}, {self.shape}, {verdict}", *self.lines])


def cases(number: int, seed: int = SEED) -> list[Case]:
    """So many programs, the same ones for the same seed: each shape as often as the others."""
    names = list(SHAPES)
    return [case(index, names[index % len(names)], seed) for index in range(number)]


def case(number: int, shape: str, seed: int) -> Case:
    """The program of this number: two of five have a mistake."""
    chance = Random(f"{seed} {number}")  # noqa: S311
    wrong = chance.random() < 0.4
    mistake: str | None = None
    for turn in count():
        if wrong and turn % 10 == 0:
            mistake = chance.choice(MISTAKES + RARE * 8)
        make = Maker(f"{seed} {number} {turn}", mistake)
        part = SHAPES[shape](make)
        if make.mistake is None:  # or it has not come to a place for it
            lines = tuple(written(make, part, number))
            return Case(number, shape, mistake or "", part.piece, lines, make.awaited)
    raise AssertionError


def written(make: Maker, part: Part, number: int) -> Iterator[str]:
    """A program as text."""
    prefix = "async " if make.asynchronous else ""
    yield f"{prefix}def case_{number}() -> {annotation(part.start, part.rung)}:"
    yield from (f"    {line}" for line in make.lines)
    if make.chance(0.5):
        yield f"    whole = {part.text}"
        yield "    return whole"
    else:
        yield f"    return {part.text}"
    made = f"(await case_{number}())" if make.asynchronous else f"case_{number}()"
    if make.awaited:
        yield f"async def run_{number}(interpreter: Interpreter[Row]) -> None:"
        yield f"    await {made}.run_async(interpreter)"
    else:
        yield f"def run_{number}(interpreter: Interpreter[Row]) -> None:"
        yield f"    {made}.run(interpreter)"
