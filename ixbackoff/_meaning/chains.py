"""Chains, which are lists of steps that only grow, and ladders, which also have rungs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from .._words.attribute_advice import no_attribute
from .._words.commands import Misuse
from .._words.rungs import name_of
from .run_defaults import USUAL, Defaults

Position: TypeAlias = int | None
"""The number of waits left: `ENDLESS` on a ladder without end, `None` if unknown before the run."""


class Step:
    """A step of an attempt or of a program."""

    __slots__ = ()
    start: Position = None  # the rung that the step needs; `None` if it fits more than one
    may_wait: bool | None = False  # whether it can issue a `Delay`; `None`: known at run time
    unknown = False  # true if the rungs of its start and end are known only at run time
    defaults: Defaults = USUAL  # in a step for `>>` or `|`, those of its right operand

    def below(self, rung: Position) -> Position:
        """Return the rung after this step, or raise `Misuse` if it is impossible on `rung`."""
        return rung

    def parts(self) -> tuple[Any, ...]:
        """Return the effects and programs in the step, or the functions that make them in a run."""
        return tuple(getattr(self, name) for name in ("effect", "function") if hasattr(self, name))

    def bound(self, rung: int) -> int:
        """Return an upper bound of the rung after this step, given such a bound before it."""
        below = self.below(rung)
        return rung if below is None else below


class Chain:
    """An immutable list of steps that grows at its end in constant time, sharing its beginning."""

    __slots__ = ("_before", "_flat", "_last", "_recovers")
    _before: Chain | None
    _last: Step | None
    _flat: tuple[Step, ...] | None
    _recovers: bool
    if not TYPE_CHECKING:
        __getattr__ = no_attribute

    def steps(self) -> tuple[Step, ...]:
        """Return all steps from the first to the last; flattened once, in linear time."""
        if self._flat is None:
            reverse: list[Step] = []
            chain: Chain | None = self
            while chain is not None and chain._flat is None:
                if chain._last is not None:
                    reverse.append(chain._last)
                chain = chain._before
            reverse.reverse()
            beginning = chain._flat if chain is not None else None
            self._flat = (*beginning, *reverse) if beginning else tuple(reverse)
        return self._flat


class Ladder(Chain):
    """A chain on a ladder: from the rung `start` down to the rung `ends_at`."""

    __slots__ = ("_bound", "_defaults", "_end", "_name", "_start", "_may_wait")
    _defaults: Defaults
    _name: str | None
    _start: int
    _end: Position
    _bound: int
    _may_wait: bool | None

    if not TYPE_CHECKING:  # type checkers would take a program for an effect

        def __iter__(self):
            raise Misuse(
                "A program cannot run inside an attempt, or its retries would multiply: join it "
                "with >> or .bind(...)."
            )

    @property
    def start(self) -> int:
        """The number of waits left at the start; `ENDLESS` on a ladder without end."""
        return self._start

    @property
    def ends_at(self) -> Position:
        """The number of waits left at the end; `None` if it is known only at run time."""
        return self._end

    @property
    def bound(self) -> int:
        """An upper bound of the number of waits left at the end."""
        return self._bound

    @property
    def may_wait(self) -> bool | None:
        """True if the program can wait; `None` if that is known only at run time."""
        return self._may_wait


PROGRAM = "__ixbackoff_program__"
"""An attribute of each decorated function: the function that makes the program of one call."""


def program_of(given: object, *arguments: object) -> object:
    """Return the program of a call of a decorated function; return any other value unchanged."""
    make = getattr(given, PROGRAM, None)
    return given if make is None else make(*arguments)


C = TypeVar("C", bound=Chain)


def chain(kind: type[C], before: Chain | None, last: Step | None, recovers: bool = False) -> C:
    """Make a chain; every chain, and so every attempt and program, is made here.

    Args:
        recovers: true if the last step can recover from a failure.
    """
    made = object.__new__(kind)
    made._before = before
    made._last = last
    if before is None:
        made._flat = None if last is None else (last,)
        made._recovers = recovers
    else:
        made._flat = None
        made._recovers = recovers or before._recovers
    return made


L = TypeVar("L", bound=Ladder)


def ladder(kind: type[L], start: int, defaults: Defaults = USUAL) -> L:
    made = chain(kind, None, None)
    made._flat = ()
    made._start = made._end = made._bound = start
    made._may_wait = False
    made._defaults = defaults
    made._name = None
    return made


def longer(kind: type[L], before: Ladder, last: Step) -> L:
    made = chain(kind, before, last)
    made._name = before._name
    made._start = before._start
    made._defaults = last.defaults if before._defaults is USUAL else before._defaults
    if last.unknown:
        made._end, made._bound = None, before._bound
    else:
        made._end = last.below(before._end)
        made._bound = last.bound(before._bound) if made._end is None else made._end
        check_end(made._bound, before._bound)
    may_wait = (before._may_wait, False if before._end == 0 else last.may_wait)
    made._may_wait = True in may_wait or (None if None in may_wait else False)
    return made


def renamed(kind: type[L], before: Ladder, name: str) -> L:
    made = chain(kind, before._before, before._last)
    made._flat = before._flat
    made._name = checked_name(name)
    made._start, made._end, made._bound = before._start, before._end, before._bound
    made._may_wait = before._may_wait
    made._defaults = before._defaults
    return made


def checked_name(name: str) -> str:
    given: object = name
    if not isinstance(given, str) or not given:
        raise Misuse(f"The name {name!r}: give a string that is not empty.")
    return name


def check_start(start: int, rung: int) -> None:
    if start != rung:
        instead = ", or put its effect into the attempt before, so that both are tried together"
        raise Misuse(
            f"A program that ends at {name_of(rung)} cannot continue with one that starts at "
            f"{name_of(start)}: start the second with at({name_of(rung)})"
            f"{instead if start > rung else ''}."
        )


def check_end(end: int, rung: int) -> None:
    """Check that a program on `rung`, or below it, can continue to `end`."""
    if end > rung:
        raise Misuse(
            f"A program on {name_of(rung)} cannot continue to {name_of(end)}: nothing goes up a "
            "ladder."
        )


def not_ended(rung: int) -> Misuse:
    """Return the error of a run whose program ends at `rung`, above N0."""
    return Misuse(
        f"The program is open, it ends at {name_of(rung)}: end it with .end(), or go down "
        "with .retry(...)."
    )


def counted(steps: int) -> str:
    return "1 step" if steps == 1 else f"{steps} steps"
