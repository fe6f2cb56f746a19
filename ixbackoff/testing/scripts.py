"""Scripted answers: handlers that answer from a list that the test gives."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple, Never, TypeAlias, TypeVar, cast, overload

from .._words.checks import finite
from .._words.commands import Command

__tracebackhide__ = True

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)
F = TypeVar("F", bound=BaseException)
# Without `F`, pyright would infer `A` from the failures before the first value.
Scripted: TypeAlias = F | A | BaseException
C = TypeVar("C", bound=Command[Any])


class Unscripted(BaseException):
    """The error for a command without a scripted answer; no step retries a `BaseException`."""


class ComputedAnswer(NamedTuple):
    function: Callable[[Any], Any]

    def __repr__(self) -> str:
        return f"computed({getattr(self.function, '__name__', self.function)})"


def computed(function: Callable[[C], A]) -> A:
    """Make an answer that `function` computes from the command, or raises.

    The returned value is a placeholder: use it in a script only, such as `answers(...)`.

    >>> from ixbackoff import N0, Call, at, call
    >>> from ixbackoff.testing import Virtual, answers
    >>> world = Virtual(Call.handled_by(answers(computed(lambda command: len(command.arguments)))))
    >>> at(N0).do(call(pow, 2, 5)).run(world.interpreter)
    2
    """
    return cast("A", ComputedAnswer(function))


class DelayedAnswer(NamedTuple):
    seconds: float
    answer: Any

    def __repr__(self) -> str:
        return f"takes({self.seconds:g}, {self.answer!r})"


@overload
def takes(seconds: float, answer: BaseException) -> BaseException: ...
@overload
def takes(seconds: float, answer: A) -> A: ...
def takes(seconds: float, answer: A) -> A:
    """Make an answer that arrives after `seconds` of virtual time.

    A command whose time limit is not above `seconds` fails with a `TimeoutError` at the limit.
    The returned value is a placeholder: use it in a script only, such as `answers(...)`.

    >>> from ixbackoff import N0, Call, at, call
    >>> from ixbackoff.testing import Virtual, answers
    >>> world = Virtual(Call.handled_by(answers(takes(2.5, "slow"))))
    >>> at(N0).do(call(len, "abc")).run(world.interpreter), world.now
    ('slow', 2.5)

    Args:
        seconds: the seconds that the answer takes, 0 or more.
        answer: a value, an exception to raise, or a `computed` answer.

    Raises:
        ValueError: `seconds` is negative or not finite.
    """
    if not finite(seconds) >= 0:
        raise ValueError(f"takes({seconds!r}, ...): give seconds, 0 or more.")
    return cast("A", DelayedAnswer(seconds, answer))


class Answers(Generic[A_co]):
    """A handler with scripted answers (`left`: the unused ones), made by `answers` or `always`."""

    def __init__(self, script: tuple[A_co | BaseException, ...], forever: bool) -> None:
        self.left: deque[Any] = deque(script)
        self.forever = forever

    def __call__(self, command: Command[Any]) -> A_co:
        if not self.left:
            raise Unscripted(f"no answer is left for {command!r}")
        script = self.left
        return cast("A_co", given_by(script[0] if self.forever else script.popleft(), command))

    def unused(self) -> list[str]:
        """List the answers that the program should have used and did not."""
        return [] if self.forever else [repr(answer) for answer in self.left]


@overload
def answers(*script: BaseException) -> Answers[Never]: ...
@overload
def answers(*script: Scripted[F, A]) -> Answers[A]: ...
def answers(*script: Any) -> Answers[Any]:
    """Make a handler that answers the first command with the first answer, and so on.

    An answer is a value, an exception to raise, or a result of `computed` or `takes`.

    >>> from ixbackoff import NotReady, call
    >>> handler = answers(NotReady(), 7)
    >>> handler(call(int))
    Traceback (most recent call last):
    ixbackoff.NotReady
    >>> handler(call(int))
    7
    """
    return Answers(script, forever=False)


@overload
def always(answer: BaseException) -> Answers[Never]: ...
@overload
def always(answer: Scripted[F, A]) -> Answers[A]: ...
def always(answer: Any) -> Answers[Any]:
    """Make a handler that answers every command with the same answer.

    >>> from ixbackoff import call
    >>> handler = always(7)
    >>> handler(call(int)), handler(call(int))
    (7, 7)
    """
    return Answers((answer,), forever=True)


def given_by(answer: Any, command: Command[Any]) -> Any:
    """Return, raise or compute a scripted answer to `command`."""
    given: object = answer
    kind: type = given if isinstance(given, type) else given.__class__
    if issubclass(kind, BaseException):
        try:
            if isinstance(answer, BaseException):  # each raise adds to the traceback
                raise answer.with_traceback(None)
            raise answer
        finally:
            del answer  # break the cycle of exception, traceback and this frame
    return answer.function(command) if kind is ComputedAnswer else answer


class ByCommand(Generic[A]):
    """A handler with a script for each command; `by_command` makes it."""

    def __init__(self, scripts: Mapping[Any, Answers[A]]) -> None:
        self.scripts: dict[Any, Answers[A]] = dict(scripts)

    def __call__(self, command: Command[Any]) -> A:
        script = self.scripts.get(command)
        if script is None:
            raise Unscripted(f"{command!r} is not among the scripted commands")
        return script(command)

    def unused(self) -> list[str]:
        return [
            f"{answer} for {command!r}"
            for command, script in self.scripts.items()
            for answer in script.unused()
        ]


def by_command(scripts: Mapping[C, Answers[A]]) -> ByCommand[A]:
    """Make a handler with a script for each command, not only for each kind.

    >>> from ixbackoff import call
    >>> handler = by_command({call(len, "a"): answers(1), call(len, "bc"): answers(2)})
    >>> handler(call(len, "bc"))
    2
    """
    return ByCommand(scripts)
