"""Several effects: one after the other until one succeeds, or all concurrently."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, Protocol, TypeVar, overload

from .._meaning.chains import Chain
from .._meaning.steps import DoStep, FirstStep, checked_effect
from .._words.commands import Command, Misuse
from .._words.equality_by_fields import Value
from .._words.failure_classes import On, predicate
from .._words.judging import is_transient
from .._words.standard_commands import Pick, Together
from .attempts import Attempt, CommandOrAttempt, extended

A = TypeVar("A")
A2 = TypeVar("A2")
A3 = TypeVar("A3")
A4 = TypeVar("A4")
A5 = TypeVar("A5")
A6 = TypeVar("A6")
A7 = TypeVar("A7")
A8 = TypeVar("A8")
E = TypeVar("E")
E2 = TypeVar("E2")
E3 = TypeVar("E3")
E4 = TypeVar("E4")
E5 = TypeVar("E5")
E6 = TypeVar("E6")
E7 = TypeVar("E7")
E8 = TypeVar("E8")
A_co = TypeVar("A_co", covariant=True)
E_co = TypeVar("E_co", covariant=True)


class First(Value, Generic[A_co]):
    """The answer of the first effect of `first_of` that succeeded.

    Attributes:
        index: the index of that effect, from 0.
        answer: its answer.
    """

    __slots__ = ("index", "answer")
    __match_args__ = ("index", "answer")

    def __init__(self, index: int, answer: A_co) -> None:
        self.index = index
        self.answer = answer


def first_of(
    effects: Iterable[CommandOrAttempt[E, A]],
    *,
    start: int | None = None,
    on: On = is_transient,
) -> Attempt[E | Pick, First[A]]:
    """Perform the effects one after the other, from a random one on, until one succeeds.

    The random start spreads many clients over the servers that they may ask, as `forany` of the
    fault tolerant shell does.

    >>> from ixbackoff import N0, Call, ServerError, at, call, first_of
    >>> from ixbackoff.testing import Virtual, answers
    >>> world = Virtual(Call.handled_by(answers(ServerError(503), "page")))
    >>> mirrors = [call(str, "a"), call(str, "b"), call(str, "c")]
    >>> at(N0).do(first_of(mirrors, start=2)).run(world.interpreter)
    First(index=0, answer='page')

    Args:
        effects: commands and attempts, at least one.
        start: the index to begin at, instead of a random one.
        on: the failures after which the next effect is tried. If all effects fail, the failure is
            that of the last effect that was tried.

    Raises:
        Misuse: an effect is not a command or an attempt.
        ValueError: there are no effects, or `start` is not the index of one.
    """
    choices = checked_effects("first_of", effects)
    if not choices:
        raise ValueError("first_of([]): give one effect at least.")
    given: object = start
    if given is not None and not (isinstance(given, int) and given in range(len(choices))):
        raise ValueError(f"first_of(start={start!r}): give an index from 0 to {len(choices) - 1}.")

    return extended(None, FirstStep(choices, predicate(on), start, First))


class Alone(CommandOrAttempt[E_co, A_co], Protocol[E_co, A_co]):
    """A command or an attempt; a generator of them has `__iter__`, too, but no `_alone`."""

    def _alone(self) -> None: ...


@overload
def all_of(effect: Alone[E, A], /) -> Attempt[E, tuple[A]]: ...
@overload
def all_of(effects: Iterable[CommandOrAttempt[E, A]], /) -> Attempt[E, list[A]]: ...
@overload
def all_of(
    first: CommandOrAttempt[E, A], second: CommandOrAttempt[E2, A2], /
) -> Attempt[E | E2, tuple[A, A2]]: ...
@overload
def all_of(
    first: CommandOrAttempt[E, A],
    second: CommandOrAttempt[E2, A2],
    third: CommandOrAttempt[E3, A3],
    /,
) -> Attempt[E | E2 | E3, tuple[A, A2, A3]]: ...
@overload
def all_of(
    first: CommandOrAttempt[E, A],
    second: CommandOrAttempt[E2, A2],
    third: CommandOrAttempt[E3, A3],
    fourth: CommandOrAttempt[E4, A4],
    /,
) -> Attempt[E | E2 | E3 | E4, tuple[A, A2, A3, A4]]: ...
@overload
def all_of(
    first: CommandOrAttempt[E, A],
    second: CommandOrAttempt[E2, A2],
    third: CommandOrAttempt[E3, A3],
    fourth: CommandOrAttempt[E4, A4],
    fifth: CommandOrAttempt[E5, A5],
    /,
) -> Attempt[E | E2 | E3 | E4 | E5, tuple[A, A2, A3, A4, A5]]: ...
@overload
def all_of(
    first: CommandOrAttempt[E, A],
    second: CommandOrAttempt[E2, A2],
    third: CommandOrAttempt[E3, A3],
    fourth: CommandOrAttempt[E4, A4],
    fifth: CommandOrAttempt[E5, A5],
    sixth: CommandOrAttempt[E6, A6],
    /,
) -> Attempt[E | E2 | E3 | E4 | E5 | E6, tuple[A, A2, A3, A4, A5, A6]]: ...
@overload
def all_of(
    first: CommandOrAttempt[E, A],
    second: CommandOrAttempt[E2, A2],
    third: CommandOrAttempt[E3, A3],
    fourth: CommandOrAttempt[E4, A4],
    fifth: CommandOrAttempt[E5, A5],
    sixth: CommandOrAttempt[E6, A6],
    seventh: CommandOrAttempt[E7, A7],
    /,
) -> Attempt[E | E2 | E3 | E4 | E5 | E6 | E7, tuple[A, A2, A3, A4, A5, A6, A7]]: ...
@overload
def all_of(
    first: CommandOrAttempt[E, A],
    second: CommandOrAttempt[E2, A2],
    third: CommandOrAttempt[E3, A3],
    fourth: CommandOrAttempt[E4, A4],
    fifth: CommandOrAttempt[E5, A5],
    sixth: CommandOrAttempt[E6, A6],
    seventh: CommandOrAttempt[E7, A7],
    eighth: CommandOrAttempt[E8, A8],
    /,
) -> Attempt[E | E2 | E3 | E4 | E5 | E6 | E7 | E8, tuple[A, A2, A3, A4, A5, A6, A7, A8]]: ...
# Without this overload, type checkers would take the answers of `all_of(*effects)` for a list.
@overload
def all_of(
    first: CommandOrAttempt[E, A], /, *more: CommandOrAttempt[E, A]
) -> Attempt[E, tuple[A, ...]]: ...
def all_of(*effects: Any) -> Attempt[Any, Any]:
    """Perform all effects concurrently; the first failure ends the others.

    The answers are in the order of the effects: a tuple for `all_of(a, b)`, a list for
    `all_of([a, b])`. The fault tolerant shell has this as `forall`. Type checkers know the types of
    up to eight different effects; nest `all_of` for more.

    Each effect has its own thread in `run`, and its own task in `run_async`. A thread cannot be
    cancelled from outside, so in `run` the other effects end at their next command at the latest;
    then the failure is raised.

    >>> from ixbackoff import N0, all_of, at, call
    >>> from ixbackoff.live import live
    >>> at(N0).do(all_of(call(len, "a"), call(str, 2))).run(live())
    (1, '2')
    >>> at(N0).do(all_of(call(len, word) for word in ("a", "bc"))).run(live())
    [1, 2]

    Raises:
        Misuse: an effect is not a command or an attempt, or there is no argument at all.
    """
    if not effects:
        raise Misuse("all_of(): give commands and attempts, or a list of them.")
    listed = len(effects) == 1 and not is_one_effect(effects[0])
    given = effects[0] if listed else effects
    together = extended(None, DoStep(Together(checked_effects("all_of", given))))
    return together if listed else together.map(tuple)


def is_one_effect(given: object) -> bool:
    return isinstance(given, Command | Chain)


def checked_effects(
    name: str, effects: Iterable[CommandOrAttempt[E, A]]
) -> tuple[CommandOrAttempt[E, A], ...]:
    if is_one_effect(effects) or not isinstance(effects, Iterable):
        raise Misuse(f"{name}({effects!r}): give a list of commands and attempts.")
    return tuple(checked_effect(effect) for effect in effects)
