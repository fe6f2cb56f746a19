"""Scripted answers: handlers that answer as a test says."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from ..commands import Command

A = TypeVar("A")
C = TypeVar("C", bound=Command[Any])


class Unscripted(BaseException):
    """The program did what the test's script has no answer for.

    It is no `Exception`, so that no step takes it for a failure to recover from.
    """


class Computed(Generic[A]):
    """An answer that is a function of the command; made by `computed`."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[[Any], A]) -> None:
        self.function = function

    def __repr__(self) -> str:
        return f"computed({getattr(self.function, '__name__', self.function)})"


def computed(function: Callable[[C], A]) -> Computed[A]:
    """An answer that `function` makes of the command; it may raise, too.

    >>> from ixbackoff import Call, call
    >>> computed(lambda command: command()).function(call(len, "four"))
    4
    """
    return Computed(function)


class Answers(Generic[A]):
    """A handler with scripted answers; made by `answers` and `always`.

    Attributes:
        left: what it has not given yet.
    """

    __slots__ = ("forever", "left")

    def __init__(self, script: tuple[A | BaseException | Computed[A], ...], forever: bool) -> None:
        self.left: deque[Any] = deque(script)
        self.forever = forever

    def __call__(self, command: Command[object]) -> A:
        if not self.left:
            raise Unscripted(f"no answer is left for {command!r}")
        answer = self.left[0] if self.forever else self.left.popleft()
        if _is_exception(answer):
            raise answer
        kind: type = answer.__class__
        given: A = answer.function(command) if kind is Computed else answer
        return given

    def unused(self) -> list[str]:
        """The answers that the program was expected to ask for, and has not."""
        return [] if self.forever else [repr(answer) for answer in self.left]


def answers(*script: A | BaseException | Computed[A]) -> Answers[A]:
    """A handler that gives these answers, one each time: a value; an exception, which it raises; or
    a `computed` one.

    >>> from ixbackoff import NotReady, call
    >>> handler = answers(NotReady(), 7)
    >>> handler(call(int))
    Traceback (most recent call last):
    ixbackoff.failures.NotReady
    >>> handler(call(int))
    7
    """
    return Answers(script, forever=False)


def always(answer: A | BaseException | Computed[A]) -> Answers[A]:
    """A handler that gives this answer every time.

    >>> from ixbackoff import call
    >>> handler = always(7)
    >>> handler(call(int)), handler(call(int))
    (7, 7)
    """
    return Answers((answer,), forever=True)


def _is_exception(answer: object) -> bool:
    if isinstance(answer, type):
        return issubclass(answer, BaseException)
    return isinstance(answer, BaseException)


class ByCommand(Generic[A]):
    """A handler with a script for each command; made by `by_command`."""

    __slots__ = ("scripts",)

    def __init__(self, scripts: Mapping[Any, Answers[A]]) -> None:
        self.scripts: dict[Any, Answers[A]] = dict(scripts)

    def __call__(self, command: Command[object]) -> A:
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
