"""Commands, which are effects as data, and interpreters, which are tables of who answers them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from functools import partial
from types import CoroutineType, NoneType
from typing import Any, Generic, Never, Self, TypeAlias, final

from typing_extensions import TypeVar

from .values import Value

R_co = TypeVar("R_co", covariant=True)
E_contra = TypeVar("E_contra", contravariant=True)
F = TypeVar("F")
I_any = TypeVar("I_any", "Interpreter[Any]", "AsyncInterpreter[Any]")

CO_COROUTINE = 0x80  # inspect.CO_COROUTINE; inspect itself costs 18 ms to import
CO_GENERATOR = 0x20
GENERATORS = CO_GENERATOR | 0x200  # or inspect.CO_ASYNC_GENERATOR

Handler: TypeAlias = Callable[[Any], Any]
Handlers: TypeAlias = dict[type, Any]
"""From a kind of command to its handler: a plain dict, since one look-up in it is each dispatch."""


class Awaited:
    """A handler whose answers are awaited, in a table of handlers."""

    __slots__ = ("handler",)

    def __init__(self, handler: Handler) -> None:
        self.handler = handler


class Misuse(TypeError):
    """A program that is wrongly put together or wrongly run: the program has to be changed.

    A type checker says so before it runs. No step recovers from it, whatever its `on` says.

    >>> from ixbackoff import N0, at
    >>> at(N0).backoff()
    Traceback (most recent call last):
    ixbackoff.Misuse: .backoff() goes one rung down, but no wait is left at N0: start the program on a higher rung, or leave the step out.
    """  # noqa: E501


class Command(Value, Generic[R_co]):
    """One effect as data; `R_co` is the type of its answer.

    A subclass is a frozen dataclass or a class with `__slots__`; it is compared and printed by its
    fields. It does nothing by itself: a handler in an interpreter answers it.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class GetETag(Command[str]):
    ...     url: str
    >>> GetETag("http://localhost/a")
    GetETag(url='http://localhost/a')
    """

    __slots__ = ()
    _only_the_ladder = False  # whether it is not for attempts to issue

    def __iter__(self) -> Generator[Self, Any, R_co]:
        """Issue the command in do-notation: `answer = yield from command`."""
        answer: R_co = yield self
        return answer

    @classmethod
    def handled_by(cls, handler: Callable[[Self], R_co]) -> Interpreter[Self]:
        """The interpreter that answers this kind of command with `handler(command)`.

        An exception that the handler raises is the command's failure.

        >>> from ixbackoff import N0, Log, at
        >>> at(N0).do(Log("hello")).run(Log.handled_by(lambda command: print(command.message)))
        hello

        Raises:
            TypeError: `handler` is not callable, or it is a coroutine function.
        """
        if not callable(handler):
            raise TypeError(f"{cls.__name__}.handled_by({handler!r}): give a function.")
        if is_coroutine_function(handler):
            raise TypeError(
                f"{cls.__name__}.handled_by({_name(handler)}): it is a coroutine function, "
                f"so write {cls.__name__}.awaited_by({_name(handler)}) and run with run_async."
            )
        return _interpreter(Interpreter, {cls: handler})

    @classmethod
    def awaited_by(cls, handler: Callable[[Self], Awaitable[R_co]]) -> AsyncInterpreter[Self]:
        """The interpreter that answers this kind of command with `await handler(command)`.

        >>> import asyncio
        >>> from ixbackoff import N0, Log, at
        >>> async def say(command: Log) -> None:
        ...     await asyncio.sleep(0)
        ...     print(command.message)
        >>> asyncio.run(at(N0).do(Log("hello")).run_async(Log.awaited_by(say)))
        hello

        Raises:
            TypeError: `handler` is not callable.
        """
        if not callable(handler):
            raise TypeError(f"{cls.__name__}.awaited_by({handler!r}): give a coroutine function.")
        return _interpreter(AsyncInterpreter, {cls: Awaited(handler)})


Stream: TypeAlias = Generator[Command[Any], Any, Any]
"""Commands in the order in which they are issued; it is sent their answers."""


@final
class Interpreter(Generic[E_contra]):
    """Who answers which command: it answers every command in `E_contra`.

    `Kind.handled_by(function)` makes one for one kind, and `a | b` answers what either answers; the
    right one answers where both can.

    >>> from ixbackoff import Download, Log
    >>> Log.handled_by(print) | Download.handled_by(print)
    <Interpreter of Log, Download>
    """

    __slots__ = ("_handlers", "_in_place")
    _handlers: Handlers
    _in_place: Handlers

    def __init__(self, _sealed: Never) -> None:
        raise TypeError("Make an interpreter from handlers: SomeCommand.handled_by(...) | ...")

    def __or__(self, other: Interpreter[F]) -> Interpreter[E_contra | F]:
        if not isinstance(other, Interpreter):
            return NotImplemented
        return _interpreter(Interpreter, joined(self._handlers, other._handlers))

    def around(self, wrapper: Callable[[Command[Any], Handler], Any]) -> Interpreter[E_contra]:
        """The same, with each command answered by `wrapper(command, handler)`: for traces and such.

        >>> def timed(command, handler):
        ...     print("asked:", command)
        ...     return handler(command)
        >>> from ixbackoff import N0, Log, at
        >>> quiet = Log.handled_by(lambda command: None)
        >>> at(N0).do(Log("hello")).run(quiet.around(timed))
        asked: Log(message='hello', level=20)
        """

        def wrapped(handler: Handler) -> Handler:
            return lambda command: wrapper(command, handler)

        handlers = {kind: wrapped(handler) for kind, handler in self._handlers.items()}
        return _interpreter(Interpreter, handlers)

    def __repr__(self) -> str:
        return _described(self)


@final
class AsyncInterpreter(Generic[E_contra]):
    """As `Interpreter`, with handlers that are awaited beside those that are not.

    `Kind.awaited_by(function)` makes one for one kind; `|` joins it with either sort.

    >>> from asyncio import sleep
    >>> from ixbackoff import Delay, Log
    >>> Delay.awaited_by(lambda command: sleep(command.seconds)) | Log.handled_by(print)
    <AsyncInterpreter of Delay, Log>
    """

    __slots__ = ("_handlers", "_in_place")
    _handlers: Handlers
    _in_place: Handlers

    def __init__(self, _sealed: Never) -> None:
        raise TypeError("Make an interpreter from handlers: SomeCommand.awaited_by(...) | ...")

    def __or__(self, other: Interpreter[F] | AsyncInterpreter[F]) -> AsyncInterpreter[E_contra | F]:
        if not isinstance(other, Interpreter | AsyncInterpreter):
            return NotImplemented
        return _interpreter(AsyncInterpreter, joined(self._handlers, other._handlers))

    def __ror__(self, other: Interpreter[F]) -> AsyncInterpreter[E_contra | F]:
        if not isinstance(other, Interpreter):
            return NotImplemented
        return _interpreter(AsyncInterpreter, joined(other._handlers, self._handlers))

    def around(
        self, wrapper: Callable[[Command[Any], Handler], Awaitable[Any]]
    ) -> AsyncInterpreter[E_contra]:
        """The same, with each command answered by `await wrapper(command, handler)`.

        The handler that it is given is to be awaited, too.
        """

        def wrapped(handler: Any) -> Awaited:
            async def plain(command: Command[Any]) -> Any:
                answer = handler(command)
                if isinstance(answer, CoroutineType):
                    raise unawaited(answer, command)
                return answer

            awaited = handler.handler if isinstance(handler, Awaited) else plain
            return Awaited(lambda command: wrapper(command, awaited))

        handlers = {kind: wrapped(handler) for kind, handler in self._handlers.items()}
        return _interpreter(AsyncInterpreter, handlers)

    def __repr__(self) -> str:
        return _described(self)


def joined(left: Handlers, right: Handlers) -> Handlers:
    """Both; where both have a handler, that of `right` is used."""
    answered = tuple(right)
    kept = {kind: handler for kind, handler in left.items() if not issubclass(kind, answered)}
    return kept | right


def inherited(handlers: Handlers, kind: type) -> Any:
    """The handler of the nearest base of a kind that has none of its own.

    Raises:
        Misuse: there is none.
    """
    for base in kind.__mro__:
        if base in handlers:
            return handlers[base]
    if not issubclass(kind, Command):
        yielded = "None" if kind is NoneType else f"a {kind.__name__}"
        raise Misuse(
            f"An attempt yielded {yielded}, which is no command: write `yield from` with a "
            "command or an attempt."
        ) from None
    raise Misuse(
        f"No handler for {kind.__name__}: join one to the interpreter, "
        f"interpreter | {kind.__name__}.handled_by(...); live() answers the standard commands."
    ) from None


def _interpreter(kind: type[I_any], handlers: Handlers) -> I_any:
    """The one place where interpreters are made."""
    made = object.__new__(kind)
    made._handlers = handlers
    made._in_place = {
        command: handler
        for command, handler in handlers.items()
        if not (isinstance(handler, Awaited) or getattr(command, "_only_the_ladder", False))
    }
    return made


def unawaited(answer: Any, command: Command[Any]) -> Misuse:
    """The error of a handler that answers a coroutine where an answer was to be."""
    answer.close()
    kind = command.__class__.__name__
    return Misuse(
        f"The handler of {kind} answered a coroutine: join it as {kind}.awaited_by(...) and run "
        "with run_async."
    )


def stopped(error: BaseException) -> RuntimeError:
    """What a handler's `StopIteration` becomes: a generator would take it for its end."""
    made = RuntimeError(f"{error!r} was raised by a handler: for generators it means the end")
    made.__cause__ = error
    return made


def _described(interpreter: Interpreter[Any] | AsyncInterpreter[Any]) -> str:
    kinds = ", ".join(kind.__name__ for kind in interpreter._handlers)
    return f"<{interpreter.__class__.__name__} of {kinds}>"


def is_coroutine_function(function: Callable[..., object]) -> bool:
    return bool(code_flags(function) & CO_COROUTINE)


def code_flags(function: Any) -> int:
    """What kind of function it is, as the flags of its code; 0 if it has none."""
    inner = function.func if isinstance(function, partial) else function
    inner = getattr(inner, "__func__", inner)  # of a method
    if not hasattr(inner, "__code__"):  # an object that can be called
        inner = getattr(inner.__class__, "__call__", None)  # noqa: B004
    flags: int = getattr(getattr(inner, "__code__", None), "co_flags", 0)
    return flags


def _name(function: object) -> str:
    return getattr(function, "__name__", repr(function))
