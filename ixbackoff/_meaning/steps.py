"""The kinds of steps in attempts and programs, untyped by rung.

A step holds its arguments and computes the rung after it; its meaning is in `semantics`. Docstrings
name the state in which a run takes the step, "Well:" or "Failed:". In the other state the run
passes the step over.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from types import FunctionType, GeneratorType, SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeAlias, get_args, get_origin, get_type_hints

from .._limits.breakers import CircuitBreaker
from .._limits.gate_base import Gate
from .._words.commands import CO_GENERATOR, Command, Misuse, code_flags
from .._words.failure_classes import Predicate
from .._words.rungs import ENDLESS, name_of, position
from .._words.standard_commands import Delay, Pick, Reserve
from .chains import Chain, Ladder, Position, Step, check_end, check_start
from .run_defaults import USUAL

if TYPE_CHECKING:
    from weakref import WeakKeyDictionary

Function: TypeAlias = Callable[..., Any]

Guard: TypeAlias = CircuitBreaker | Gate | Reserve


class Limited:
    __slots__ = ("chain", "seconds")

    def __init__(self, chain: Chain, seconds: float) -> None:
        self.chain = chain
        self.seconds = seconds


class Guarded:
    __slots__ = ("chain", "guard")

    def __init__(self, chain: Any, guard: Guard) -> None:
        self.chain = chain
        self.guard = guard


EFFECTS: tuple[type, ...] = (Chain, Limited, Guarded)


class DoStep(Step):
    """Well: perform the effect."""

    __slots__ = ("effect",)

    def __init__(self, effect: Any) -> None:
        self.effect = effect if effect.__class__ is Limited else checked_effect(effect)


class StartStep(Step):
    """Well: start a generator function; `fresh` is true if each call makes a new generator."""

    __slots__ = ("arguments", "fresh", "function", "keywords")

    def __init__(self, function: Function, arguments: Any, keywords: Any, like: Any = None) -> None:
        self.function = function
        self.fresh = like.fresh if like else bool(code_flags(function) & CO_GENERATOR)
        self.arguments = arguments
        self.keywords = keywords


class FunctionStep(Step):
    __slots__ = ("function",)

    def __init__(self, function: Function) -> None:
        self.function = checked_function(function)


class ThenStep(FunctionStep):
    """Well: perform the effect that the function makes of the value."""

    __slots__ = ()


class MapStep(FunctionStep):
    """Well: apply the function to the value."""

    __slots__ = ()

    def parts(self) -> tuple[Any, ...]:
        return ()


class FirstStep(Step):
    """Well: perform the effects in turn, from `start_at` or a random one, until one succeeds.

    `answered` makes the value of the step from the index and the answer of the successful effect.
    """

    __slots__ = ("answered", "chosen", "effects", "pick", "start_at")

    def __init__(self, effects: Any, chosen: Predicate, start_at: Any, answered: Function) -> None:
        self.effects, self.pick = effects, Pick(len(effects))
        self.chosen = chosen
        self.start_at = start_at
        self.answered = answered

    def parts(self) -> tuple[Any, ...]:
        return self.effects if self.start_at is not None else (self.pick, *self.effects)


class OrElseStep(Step):
    """Failed, and the failure is chosen: perform the effect instead."""

    __slots__ = ("effect", "chosen")

    def __init__(self, effect: Any, chosen: Predicate) -> None:
        self.effect = checked_effect(effect)
        self.chosen = chosen


class JoiningStep(Step):
    """Continue with the program that the function makes, from rung `start` to rung `end`.

    A rung that is not known is `None`. `known` is the program if the function always returns it.
    """

    __slots__ = ("defaults", "end", "function", "known", "start", "unknown", "may_wait")

    def __init__(self, function: Function, known: Ladder | None = None) -> None:
        self.function = checked_function(function)
        self.known = known
        if known is not None:
            self.start, self.end = known.start, known.ends_at
            self.may_wait, self.defaults = known.may_wait, known._defaults
        else:
            self.start, self.end = annotated(function)
            self.defaults = USUAL
            self.may_wait = False if self.end is not None and self.end == self.start else None
        self.unknown = self.start is None and self.end is None

    def parts(self) -> tuple[Any, ...]:
        return (self.function if self.known is None else self.known,)

    def below(self, rung: Position) -> Position:
        if rung is not None and self.start is not None:
            check_start(self.start, rung)
        highest = self.start if rung is None else rung
        if highest is not None and self.end is not None:
            check_end(self.end, highest)
        return self.end

    def bound(self, rung: int) -> int:
        end = self.end if self.known is None else self.known.bound
        return rung if end is None else min(rung, end)


class BindStep(JoiningStep):
    """Well: continue with the program that the function makes of the value."""

    __slots__ = ()


class OrBindStep(JoiningStep):
    """Failed, and the failure is chosen: continue with the program that the function makes."""

    __slots__ = ("chosen",)

    def __init__(self, function: Function, chosen: Predicate, known: Ladder | None = None) -> None:
        super().__init__(function, known)
        self.chosen = chosen


class DownStep(Step):
    """Go one rung down, in either state; `name` is that of the method."""

    __slots__ = ()
    name = ""

    def below(self, rung: Position) -> Position:
        if rung == ENDLESS:
            raise Misuse(
                f".{self.name}() goes one rung down, and a ladder without end has none below: use "
                ".retry, .resume, .retry_with or .end at FOREVER."
            )
        if rung == 0:
            raise Misuse(
                f".{self.name}() goes one rung down, but no wait is left at N0: "
                "start the program on a higher rung, or leave the step out."
            )
        return None if rung is None else rung - 1


class BackoffStep(DownStep):
    """Failed, and the failure is chosen: wait. In either state: go one rung down."""

    __slots__ = ("chosen",)
    name, may_wait = "backoff", True

    def __init__(self, chosen: Predicate) -> None:
        self.chosen = chosen


class WaitStep(DownStep):
    """Well: wait. In either state: go one rung down."""

    __slots__ = ()
    name, may_wait = "wait", True


class SkipStep(DownStep):
    """Go one rung down without a wait."""

    __slots__ = ()
    name = "skip"


class AtStep(Step):
    """State the rung, for a run that does not know its rung after it passed over a `bind`."""

    __slots__ = ("rung", "start")

    def __init__(self, rung: int) -> None:
        self.start = self.rung = rung

    def below(self, rung: Position) -> Position:
        if rung is not None and rung != self.rung:
            raise Misuse(
                f".at({name_of(self.rung)}) states the rung of the program, which is "
                f"{name_of(rung)}: write .at({name_of(rung)}), or leave the step out."
            )
        return self.rung


class RetryStep(Step):
    """Well: perform the effect; while its failure is chosen, wait and perform it again."""

    __slots__ = ("chosen", "effect")
    may_wait = True

    def __init__(self, effect: Any, chosen: Predicate) -> None:
        self.effect = checked_effect(effect)
        self.chosen = chosen

    def below(self, rung: Position) -> Position:  # noqa: ARG002
        return 0

    def on(self, rung: int) -> Any:  # noqa: ARG002
        return self.effect


class ResumeStep(RetryStep):
    """A `RetryStep` whose further tries continue at the command that failed."""

    __slots__ = ()


class RetryWithStep(RetryStep):
    """A `RetryStep` with the effect that the function makes of each rung."""

    __slots__ = ("function",)

    def __init__(self, function: Function, chosen: Predicate) -> None:
        self.function = checked_function(function)
        self.chosen = chosen

    def on(self, rung: int) -> Any:
        return checked_effect(self.function(rung))


class EndStep(Step):
    """Go down to the last rung without a wait."""

    __slots__ = ()

    def below(self, rung: Position) -> Position:  # noqa: ARG002
        return 0


def checked_effect(effect: Any) -> Any:
    kind: type = effect.__class__
    if issubclass(kind, Command) and kind is not Delay:
        return effect if kind is not Reserve else iter(effect)  # which raises Misuse
    if issubclass(kind, EFFECTS) and not issubclass(kind, Ladder):
        return effect
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
    # A user's own effect has an `__iter__` written in Python; that of strings and lists is in C.
    if isinstance(effect, type) or not hasattr(getattr(effect, "__iter__", None), "__code__"):
        hint = ": to call a function, write call(function, its_argument, ...)"
        if callable(effect):
            hint = "; if it returns one, call it first; to try the function itself, write call(...)"
        raise Misuse(f"{effect!r} is not a command or an attempt{hint}.")
    return effect


def fresh(task: Any, function: Any) -> Any:
    """Return `task`; raise `Misuse` if it is not a generator, or if it has run before."""
    name = getattr(function, "__name__", function)
    kind: type = task.__class__
    if kind is not GeneratorType:
        raise Misuse(
            f"The attempt {name} is not a generator, it returned {task!r}: it has to "
            "issue its commands with `yield from`."
        )
    if task.gi_frame is None or task.gi_suspended or task.gi_running:
        raise Misuse(
            f"The attempt {name} returned a generator that had run before: make a new one for each "
            "try, with @attempt."
        )
    return task


def known_program(following: object, operator: str, instead: str) -> tuple[Function, Ladder]:
    """Make the arguments of a step that joins a known program: a function and the program."""
    if not isinstance(following, Ladder):
        raise Misuse(
            f"{operator} continues with a program, not with {following!r}: use {instead} for that."
        )
    known: Ladder = following

    def made(_: object) -> Ladder:
        return known

    return made, known


def annotated(function: Any) -> tuple[Position, Position]:
    """Return the start and end of the program that `function` returns, from its annotation."""
    try:
        hints: Any = getattr(function, "__annotations__", None)
    except NameError:  # from Python 3.14 on: a name that only a type checker knows
        return None, None
    hint: Any = hints.get("return") if hints and hints.__class__ is dict else None
    if hint is None:
        return None, None
    if function.__class__ is not FunctionType:
        return rungs_of(hint, function)
    read = annotations_read()
    known = read.get(function)
    if known is None:
        known = read[function] = rungs_of(hint, function)
    return known


@cache
def annotations_read() -> WeakKeyDictionary[FunctionType, tuple[Position, Position]]:
    """Return the cache of `annotated`: reading an annotation takes microseconds."""
    from weakref import WeakKeyDictionary  # here, because few programs need it

    return WeakKeyDictionary()


def rungs_of(hint: Any, function: Any) -> tuple[Position, Position]:
    if isinstance(hint, str):
        written = SimpleNamespace(__annotations__={"return": hint})
        with suppress(Exception):  # a name that only a type checker knows
            hint = get_type_hints(written, getattr(function, "__globals__", {}))["return"]
    kind = get_origin(hint)
    if not (isinstance(kind, type) and issubclass(kind, Ladder)):
        return None, None
    start, end, *_ = map(_position, get_args(hint))
    return start, end


def _position(rung: Any) -> Position:
    try:
        return position(rung)
    except TypeError:  # a type variable, or `Nat`
        return None


def checked_function(function: Any) -> Any:
    if not callable(function):
        raise Misuse(f"{function!r} is not a function: this step takes one.")
    return function
