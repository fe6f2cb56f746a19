"""The kinds of steps that attempts and programs are made of, untyped by rung.

What a step means stands in `semantics`; here is only what it holds, and how far down it goes.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from types import GeneratorType
from typing import Any, TypeAlias

from .._words.commands import Command, Misuse
from .._words.failures import Predicate
from .._words.vocabulary import Delay
from .chains import Chain, Ladder, Position, Step, continued

Function: TypeAlias = Callable[..., Any]
Task: TypeAlias = Generator[Any, Any, Any]
EFFECTS: tuple[type, ...] = (Command, Chain)


class Do(Step):
    """Well: perform the effect."""

    __slots__ = ("effect",)

    def __init__(self, effect: Any) -> None:
        self.effect = checked_effect(effect)


class Start(Step):
    """Well: start a generator function."""

    __slots__ = ("function", "arguments", "keywords")

    def __init__(
        self, function: Function, arguments: tuple[Any, ...], keywords: dict[str, Any]
    ) -> None:
        self.function = function
        self.arguments = arguments
        self.keywords = keywords


class Then(Step):
    """Well: perform the effect that the function makes of the value."""

    __slots__ = ("function",)

    def __init__(self, function: Function) -> None:
        self.function = checked_function(function)


class Map(Step):
    """Well: the value becomes what the function makes of it."""

    __slots__ = ("function",)

    def __init__(self, function: Function) -> None:
        self.function = checked_function(function)


class OrElse(Step):
    """Failed, and the failure is chosen: perform the effect instead."""

    __slots__ = ("effect", "chosen")

    def __init__(self, effect: Any, chosen: Predicate) -> None:
        self.effect = checked_effect(effect)
        self.chosen = chosen


class Joint(Step):
    """Go on with the program that the function makes; `known`, if it is always the same."""

    __slots__ = ("function", "known", "start", "waits")

    def __init__(self, function: Function, known: Ladder | None = None) -> None:
        self.function = checked_function(function)
        self.known = known
        self.start = None if known is None else known.start
        self.waits = None if known is None else known.waits

    def below(self, rung: Position) -> Position:
        return None if self.known is None else continued(self.known, rung)

    def bound(self, rung: int) -> int:
        return rung if self.known is None else min(rung, self.known.bound)


class Bind(Joint):
    """Well: go on with the program that the function makes of the value."""

    __slots__ = ()


class OrBind(Joint):
    """Failed, and the failure is chosen: go on with the program that the function makes of it."""

    __slots__ = ("chosen",)

    def __init__(self, function: Function, chosen: Predicate, known: Ladder | None = None) -> None:
        super().__init__(function, known)
        self.chosen = chosen


class Backoff(Step):
    """Failed, and the failure is chosen: wait. One rung down in any case."""

    __slots__ = ("chosen",)
    waits = True

    def __init__(self, chosen: Predicate) -> None:
        self.chosen = chosen

    def below(self, rung: Position) -> Position:
        return _one_down(rung, "backoff")


class Wait(Step):
    """Well: wait. One rung down in any case."""

    __slots__ = ()
    waits = True

    def below(self, rung: Position) -> Position:
        return _one_down(rung, "wait")


class Skip(Step):
    """One rung down."""

    __slots__ = ()

    def below(self, rung: Position) -> Position:
        return _one_down(rung, "skip")


class Retry(Step):
    """Well: perform the effect; while its failure is chosen, wait and perform it again."""

    __slots__ = ("effect", "chosen")
    waits = True

    def __init__(self, effect: Any, chosen: Predicate) -> None:
        self.effect = checked_effect(effect)
        self.chosen = chosen

    def below(self, rung: Position) -> Position:  # noqa: ARG002
        return 0

    def on(self, rung: int) -> Any:  # noqa: ARG002
        """The effect that is tried on `rung`."""
        return self.effect


class Resume(Retry):
    """As `Retry`, but a further try goes on at the command that failed."""

    __slots__ = ()


class Vary(Retry):
    """As `Retry`, with the effect that the function makes of each rung."""

    __slots__ = ("function",)

    def __init__(self, function: Function, chosen: Predicate) -> None:
        self.function = checked_function(function)
        self.chosen = chosen

    def on(self, rung: int) -> Any:
        return checked_effect(self.function(rung))


class GiveUp(Step):
    """Down to the last rung."""

    __slots__ = ()

    def below(self, rung: Position) -> Position:  # noqa: ARG002
        return 0


def _one_down(rung: Position, step: str) -> Position:
    if rung == 0:
        raise Misuse(
            f".{step}() goes one rung down, but no wait is left at N0: "
            "start the program on a higher rung, or leave the step out."
        )
    return None if rung is None else rung - 1


def checked_effect(effect: Any) -> Any:
    """`effect`, if it can be tried at a rung.

    Raises:
        Misuse: it cannot, and why.
    """
    if isinstance(effect, Delay):
        raise Misuse("Only the ladder waits: use .backoff(), .wait() or .retry(...).")
    if isinstance(effect, Ladder):
        raise Misuse(
            "A program cannot be tried inside a program, or its retries would multiply: "
            "join them with >> or .bind(...), or try an attempt instead."
        )
    if isinstance(effect, GeneratorType):
        raise Misuse(
            f"The generator {effect.__name__!r} can run only once: decorate its function "
            "with @attempt."
        )
    if isinstance(effect, EFFECTS):
        return effect
    # An effect of another kind has an `__iter__` written in Python; strings and lists have not.
    if isinstance(effect, type) or not hasattr(getattr(effect, "__iter__", None), "__code__"):
        hint = "; call it first, or write call(function, ...)" if callable(effect) else ""
        raise Misuse(f"{effect!r} is no command and no attempt{hint}.")
    return effect


def checked_task(task: Any, function: Any) -> Task:
    """`task`, if it is a generator.

    Raises:
        Misuse: it is none.
    """
    name = getattr(function, "__name__", function)
    if not hasattr(task, "send"):
        raise Misuse(
            f"The attempt {name} is no generator, it returned {task!r}: it has to "
            "issue its commands with `yield from`."
        )
    generator: Task = task
    return generator


def joined(following: object, operator: str, instead: str) -> tuple[Function, Ladder]:
    """What a step that goes on with a known program is made of.

    Raises:
        Misuse: it is no program.
    """
    if not isinstance(following, Ladder):
        raise Misuse(
            f"{operator} goes on with a program, not with {following!r}: use {instead} for that."
        )
    known: Ladder = following

    def made(_: object) -> Ladder:
        return known

    return made, known


def checked_function(function: Any) -> Any:
    """`function`, if it can be called.

    Raises:
        Misuse: it cannot.
    """
    if not callable(function):
        raise Misuse(f"{function!r} is no function: this step takes a function of the value.")
    return function
