"""Functions as commands."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Generic, ParamSpec, Self, TypeVar

from .commands import Command, Repeatable

__tracebackhide__ = True

A = TypeVar("A")
P = ParamSpec("P")

CONFIDENTIAL = (
    "passw|pwd|passphrase|secret|token|credential|api[_-]?key|authorization|cookie|(?<![a-z])dsn"
)
SECRETS = (  # repetitions that can overlap are bounded, so that the time is linear in the length
    rf"""(?ix) (?<=://)[^\s'"]{{0,1000}}(?=@)  # a login in a URL
    | ((?:{CONFIDENTIAL})[\w-]{{0,32}}(?: ['"]:\ ?|\s?=\s?))  # a query, a DSN, a dict
      (?: b?'(?:[^'\\]|\\.)*' | b?"(?:[^"\\]|\\.)*"
        | [^\s&;'",}})\[({{]*[\[({{](?s:.*)  # a list or object: to the end, because brackets nest
        | [^\s&;'",}})]+ )"""
)


def shown(value: object, name: str = "") -> str:
    """Return an argument's text, with '...' in place of secrets.

    Secrets are the login in a URL, and the value of a name such as `password`: the name of the
    argument, a name in a query or a DSN, or a key of a dictionary.
    """
    if re.search(CONFIDENTIAL, name, re.IGNORECASE):
        return "..."
    return re.sub(SECRETS, lambda found: f"{found[1] or ''}...", repr(value))


class Calling(Command[A], Generic[A]):
    """The base of `Call` and `CallAsync`: a function and its arguments."""

    __slots__ = ("function", "arguments", "keywords")

    def __init__(
        self,
        function: Callable[..., Any],
        arguments: tuple[Any, ...] = (),
        keywords: tuple[tuple[str, Any], ...] = (),
    ) -> None:
        self.function = function
        self.arguments = arguments
        self.keywords = keywords

    # With the inherited `__iter__` of a generic command, pyrefly loses the answer's type.
    def __iter__(self) -> Generator[Self, Any, A]:
        answer: A = yield self
        return answer

    def __repr__(self) -> str:
        name = getattr(self.function, "__qualname__", repr(self.function))
        arguments = [shown(value) for value in self.arguments]
        arguments += [f"{name}={shown(value, name)}" for name, value in self.keywords]
        word = "read" if isinstance(self, Repeatable) else "call"
        word += "_async" if isinstance(self, CallAsync) else ""
        return f"{word}({', '.join([name, *arguments])})"


class Call(Calling[A], Generic[A]):
    """A call of a plain function; `call` makes it, and keeps the function's types.

    >>> call(pow, 2, 5).arguments
    (2, 5)
    """

    __slots__ = ()

    def __call__(self) -> A:
        answer: A = self.function(*self.arguments, **dict(self.keywords))
        return answer


class CallAsync(Calling[A], Generic[A]):
    """A call of a coroutine function; `call_async` makes it, and keeps the function's types.

    >>> from asyncio import sleep
    >>> call_async(sleep, 2).arguments
    (2,)
    """

    __slots__ = ()

    def __call__(self) -> Coroutine[Any, Any, A]:
        coroutine: Coroutine[Any, Any, A] = self.function(*self.arguments, **dict(self.keywords))
        return coroutine


class Read(Call[A], Repeatable[A], Generic[A]):
    """A call that may be made twice; `read` makes it. A handler of `Call` answers it, too.

    >>> read(pow, 2, 5).arguments
    (2, 5)
    """

    __slots__ = ()


class ReadAsync(CallAsync[A], Repeatable[A], Generic[A]):
    """An awaited call that may be made twice; `read_async` makes it.

    >>> from asyncio import sleep
    >>> read_async(sleep, 2).arguments
    (2,)
    """

    __slots__ = ()


def call(function: Callable[P, A], /, *args: P.args, **kwargs: P.kwargs) -> Call[A]:
    """Make a command that calls a plain function with these arguments.

    >>> call(pow, 2, 5)
    call(pow, 2, 5)
    >>> call(pow, 2, 5)()
    32

    Raises:
        TypeError: `function` is not callable.
    """
    return Call(checked("call", function), args, tuple(kwargs.items()))


def read(function: Callable[P, A], /, *args: P.args, **kwargs: P.kwargs) -> Read[A]:
    """Make a command as `call` does, of a function that may be called twice: see `Repeatable`.

    >>> from ixbackoff import N0, Hedge, at, do, read
    >>> from ixbackoff.live import live
    >>> at(N0).do(do(read(len, "four")).hedged(Hedge())).run(live())
    4

    Raises:
        TypeError: `function` is not callable.
    """
    return Read(checked("read", function), args, tuple(kwargs.items()))


def call_async(
    function: Callable[P, Coroutine[Any, Any, A]], /, *args: P.args, **kwargs: P.kwargs
) -> CallAsync[A]:
    """Make a command that calls a coroutine function with these arguments, and awaits it.

    >>> import asyncio
    >>> from ixbackoff import N3, at, call_async
    >>> from ixbackoff.live import live_async
    >>> async def double(number: int) -> int:
    ...     return 2 * number
    >>> asyncio.run(at(N3).retry(call_async(double, 4)).run_async(live_async()))
    8

    Raises:
        TypeError: `function` is not callable.
    """
    return CallAsync(checked("call_async", function), args, tuple(kwargs.items()))


def read_async(
    function: Callable[P, Coroutine[Any, Any, A]], /, *args: P.args, **kwargs: P.kwargs
) -> ReadAsync[A]:
    """Make a command as `call_async` does, of a coroutine function that may be called twice.

    >>> from asyncio import sleep
    >>> read_async(sleep, 2)
    read_async(sleep, 2)

    Raises:
        TypeError: `function` is not callable.
    """
    return ReadAsync(checked("read_async", function), args, tuple(kwargs.items()))


def checked(word: str, function: Callable[P, A]) -> Callable[P, A]:
    if not callable(function):
        kind = "coroutine function" if word.endswith("async") else "function"
        raise TypeError(f"{word}({function!r}): give a {kind}, and its arguments after it.")
    return function
