"""Scripted answers: handlers that answer as a test says."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any, Generic, TypeVar, overload

from .._words.commands import Command

A = TypeVar("A")
C = TypeVar("C", bound=Command[Any])


class Unscripted(BaseException):
    """The program did what the test's script has no answer for.

    It is no `Exception`, so that no step takes it for a failure to recover from.
    """


class Computed:
    """An answer that is a function of the command; made by `computed`."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def __repr__(self) -> str:
        return f"computed({getattr(self.function, '__name__', self.function)})"


def computed(function: Callable[[C], A]) -> A:
    """An answer that `function` makes of the command; it may raise, too.

    What it gives stands for that answer in a script, and only there.

    >>> from ixbackoff import N0, Call, at, call
    >>> from ixbackoff.testing import Virtual, answers
    >>> world = Virtual(Call.handled_by(answers(computed(lambda command: len(command.arguments)))))
    >>> at(N0).do(call(pow, 2, 5)).run(world.interpreter)
    2
    """
    stand_in: Any = Computed(function)
    answer: A = stand_in
    return answer


class Taking:
    """An answer that takes its time; made by `takes`."""

    __slots__ = ("answer", "seconds")

    def __init__(self, seconds: float, answer: Any) -> None:
        self.seconds = seconds
        self.answer = answer

    def __repr__(self) -> str:
        return f"takes({self.seconds:g}, {self.answer!r})"


@overload
def takes(seconds: float, answer: BaseException) -> BaseException: ...
@overload
def takes(seconds: float, answer: A) -> A: ...
def takes(seconds: float, answer: A) -> A:
    """An answer that comes after so many seconds of virtual time, or not, if they are too many.

    What it gives stands for that answer in a script, and only there.

    >>> from ixbackoff import N0, Call, at, call
    >>> from ixbackoff.testing import Virtual, answers
    >>> world = Virtual(Call.handled_by(answers(takes(2.5, "slow"))))
    >>> at(N0).do(call(len, "abc")).run(world.interpreter), world.now
    ('slow', 2.5)

    Args:
        seconds: how long it takes.
        answer: a value, an exception, or a `computed` answer.

    Raises:
        ValueError: `seconds` is negative or not finite.
    """
    if not (seconds >= 0 and isfinite(seconds)):
        raise ValueError(f"takes({seconds!r}, ...): give seconds, 0 or more.")
    stand_in: Any = Taking(seconds, answer)
    later: A = stand_in
    return later


class Answers(Generic[A]):
    """A handler with scripted answers; made by `answers` and `always`.

    Attributes:
        left: what it has not given yet.
    """

    __slots__ = ("forever", "left")

    def __init__(self, script: tuple[A | BaseException, ...], forever: bool) -> None:
        self.left: deque[Any] = deque(script)
        self.forever = forever

    def __call__(self, command: Command[Any]) -> A:
        if not self.left:
            raise Unscripted(f"no answer is left for {command!r}")
        given: A = given_by(self.left[0] if self.forever else self.left.popleft(), command)
        return given

    def unused(self) -> list[str]:
        """The answers that the program was expected to ask for, and has not."""
        return [] if self.forever else [repr(answer) for answer in self.left]


def answers(*script: A | BaseException) -> Answers[A]:
    """A handler that gives these answers, one each time: a value; an exception, which it raises; a
    `computed` one; or one that `takes` its time.

    >>> from ixbackoff import NotReady, call
    >>> handler = answers(NotReady(), 7)
    >>> handler(call(int))
    Traceback (most recent call last):
    ixbackoff.NotReady
    >>> handler(call(int))
    7
    """
    return Answers(script, forever=False)


def always(answer: A | BaseException) -> Answers[A]:
    """A handler that gives this answer every time.

    >>> from ixbackoff import call
    >>> handler = always(7)
    >>> handler(call(int)), handler(call(int))
    (7, 7)
    """
    return Answers((answer,), forever=True)


def given_by(answer: Any, command: Command[Any]) -> Any:
    """What a scripted answer comes to, for this command."""
    if _is_exception(answer):
        try:
            raise answer
        finally:
            del answer  # an exception must not be kept alive by a frame in its own traceback
    kind: type = answer.__class__
    return answer.function(command) if kind is Computed else answer


def _is_exception(answer: object) -> bool:
    if isinstance(answer, type):
        return issubclass(answer, BaseException)
    return isinstance(answer, BaseException)


class ByCommand(Generic[A]):
    """A handler with a script for each command; made by `by_command`."""

    __slots__ = ("scripts",)

    def __init__(self, scripts: Mapping[Any, Answers[A]]) -> None:
        self.scripts: dict[Any, Answers[A]] = dict(scripts)

    def __call__(self, command: Command[Any]) -> A:
        script = self.scripts.get(command)
        if script is None:
            raise Unscripted(f"{command!r} is not among the scripted commands")
        return script(command)

    def unused(self) -> list[str]:
        """The answers that the program was expected to ask for, and has not."""
        return [
            f"{answer} for {command!r}"
            for command, script in self.scripts.items()
            for answer in script.unused()
        ]


def by_command(scripts: Mapping[C, Answers[A]]) -> ByCommand[A]:
    """A handler whose script depends on the command itself, not only on its kind.

    >>> from ixbackoff import call
    >>> handler = by_command({call(len, "a"): answers(1), call(len, "bc"): answers(2)})
    >>> handler(call(len, "bc"))
    2
    """
    return ByCommand(scripts)
