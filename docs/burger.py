"""An order of steps in their types: chains of effects that lead from one state to another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ForwardRef, Generic, Never, Protocol, Self, TypeVar, final, get_args

from ixbackoff import Attempt, CommandOrAttempt, Misuse, do

A = TypeVar("A")
B = TypeVar("B")
E = TypeVar("E")
F = TypeVar("F")
A_co = TypeVar("A_co", covariant=True)
E_co = TypeVar("E_co", covariant=True)
Before = TypeVar("Before", contravariant=True)
T_exact = TypeVar("T_exact")


class Exactly(Generic[T_exact]):
    """An invariant type of one parameter: a state is accepted as itself, never as a base class."""


class State(Generic[Before]):
    """A state; only `class B(State[A])` can say that `B` may follow `A`.

    States are types: they have no instances. Mark each with `@final`.
    """

    def __init__(self, _no_instances: Never) -> None:
        raise TypeError("A state is a type and has no instances.")

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if State not in cls.__bases__ or "__orig_bases__" not in vars(cls):
            raise Misuse(f"{cls.__name__}: derive it from State[Previous] or State[Never].")

    @classmethod
    def to(cls, end: After[Self, T]) -> Edge[Self, T]:
        """Return the way to a state that may follow this one."""
        if not {cls, cls.__name__} & followed(end):
            raise Misuse(f"{named(end)} does not say that it may follow {named(cls)}.")
        made: Edge[Self, T] = object.__new__(Edge)
        made._start, made._end = cls, end
        return made

    @classmethod
    def exactly(cls) -> Exactly[Self]:
        """Show type checkers which state this is. It is never called."""
        raise TypeError("A state is a type, and does nothing.")

    @classmethod
    def follows(cls, _before: Before) -> None:
        """Show type checkers which states this one may follow. It is never called."""
        raise TypeError("A state is a type, and does nothing.")


S = TypeVar("S", bound=State[Never])
T = TypeVar("T", bound=State[Never])
U = TypeVar("U", bound=State[Never])
S_contra = TypeVar("S_contra", bound=State[Never], contravariant=True)


class Exact(Protocol[S]):
    """The state `S` as an argument."""

    def exactly(self) -> Exactly[S]: ...


class After(Protocol[S_contra, T]):
    """The state `T` as an argument, if it may follow `S_contra`."""

    def exactly(self) -> Exactly[T]: ...
    def follows(self, _before: S_contra) -> None: ...


@final
class Chain(Generic[S, T, A_co, E_co]):
    """Effects in order: they lead from the state `S` to the state `T`, and answer `A_co`."""

    __slots__ = ("_attempt", "_end", "_start")
    _attempt: Attempt[
        E_co, tuple[object, A_co]
    ]  # its answer includes the state that it has reached
    _start: object
    _end: object  # None if it is known only in a run

    def __init__(self, _sealed: Never) -> None:
        raise TypeError("A chain begins with an edge: Here.to(There)(effect).")

    def __rshift__(self, following: Chain[T, U, B, F]) -> Chain[S, U, B, E_co | F]:
        """Continue with a chain that begins where this one ends."""
        meet(self._end, following)
        made = self._attempt.then(lambda reached: meet(reached[0], following)._attempt)
        return chained(self._start, following._end, made)

    def bind(self, function: Callable[[A_co], Chain[T, U, B, F]]) -> Chain[S, U, B, E_co | F]:
        """Continue with the chain that `function` makes of the answer."""
        made = self._attempt.then(lambda reached: meet(reached[0], function(reached[1]))._attempt)
        return chained(self._start, None, made)

    def map(self, function: Callable[[A_co], B]) -> Chain[S, T, B, E_co]:
        """Replace the answer by `function(answer)`."""
        made = self._attempt.map(lambda reached: (reached[0], function(reached[1])))
        return chained(self._start, self._end, made)

    def done(self, start: Exact[S], end: Exact[T]) -> Attempt[E_co, A_co]:
        """Return the chain as an attempt, if it leads from `start` to `end`."""
        meet(start, self)
        same(self._end or end, end)

        def answer(reached: tuple[object, A_co]) -> A_co:
            same(reached[0], end)
            return reached[1]

        return self._attempt.map(answer)


@final
class Edge(Generic[S, T]):
    """A way from a state to one that may follow it; call it with an effect to make a chain."""

    __slots__ = ("_end", "_start")

    _start: object
    _end: object

    def __init__(self, _sealed: Never) -> None:
        raise TypeError("Write Here.to(There).")

    def __call__(self, effect: CommandOrAttempt[E, A]) -> Chain[S, T, A, E]:
        end = self._end
        return chained(self._start, end, do(effect).map(lambda answer: (end, answer)))


def same(reached: object, wanted: object) -> None:
    if reached is not wanted:
        raise Misuse(f"The chain leads to {named(reached)} instead of {named(wanted)}.")


def meet(end: object, following: Chain[S, T, A, E]) -> Chain[S, T, A, E]:
    """Return `following`, if it begins at `end` or `end` is not known yet."""
    given: object = following
    if not isinstance(given, Chain):
        raise Misuse(f"{given!r} is not a chain: write Here.to(There)(effect).")
    if end is not None and following._start is not end:
        after, start = named(end), named(following._start)
        raise Misuse(f"After {after}, a chain has to begin at {after}; this one begins at {start}.")
    return following


def chained(start: object, end: object, attempt: Attempt[Any, Any]) -> Chain[Any, Any, Any, Any]:
    """Make a chain; the signature of the caller gives it its type."""
    made: Chain[Any, Any, Any, Any] = object.__new__(Chain)
    made._start, made._end, made._attempt = start, end, attempt
    return made


def named(state: object) -> str:
    if isinstance(state, type) and State in state.__bases__:
        return state.__name__
    raise Misuse(f"{state!r} is not a state: derive a class from State.")


def followed(state: object) -> set[object]:
    """Return the states that `state` may follow, or their names: the argument of its base class."""
    named(state)
    return {one for base in vars(state)["__orig_bases__"] for one in states(get_args(base))}


def states(types: tuple[object, ...]) -> Iterator[object]:
    for one in types:
        if isinstance(one, ForwardRef):  # a state that may follow itself has its name in quotes
            yield from (name.strip() for name in one.__forward_arg__.split("|"))
        else:
            yield from states(get_args(one)) if get_args(one) else [one]
