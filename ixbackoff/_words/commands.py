"""Commands, which are effects as data, and interpreters, which are tables of their handlers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from functools import partial
from types import CoroutineType, NoneType
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    Never,
    Protocol,
    Self,
    TypeAlias,
    TypeVar,
    final,
    overload,
)

from .attribute_advice import no_attribute
from .equality_by_fields import Value

if TYPE_CHECKING:
    I_any = TypeVar("I_any", "Interpreter[Any]", "AsyncInterpreter[Any]")

__tracebackhide__ = True

# R is invariant, or a handler of `Command[object]` would pass as a handler of any command.
R = TypeVar("R")
E_contra = TypeVar("E_contra", contravariant=True)
F = TypeVar("F")

CO_COROUTINE = 0x80  # inspect.CO_COROUTINE; inspect itself costs 18 ms to import
CO_GENERATOR = 0x20
GENERATORS = CO_GENERATOR | 0x200  # or inspect.CO_ASYNC_GENERATOR
COROUTINES = CO_COROUTINE | 0x200

Handler: TypeAlias = Callable[[Any], Any]
Handlers: TypeAlias = dict[type, Any]
"""The handler of each kind of command; a plain dict, so that a dispatch is one look-up."""


class Awaited:
    """An entry in a table of handlers: a handler whose answers are awaited."""

    __slots__ = ("handler",)

    def __init__(self, handler: Handler) -> None:
        self.handler = handler


class Misuse(TypeError):
    """A mistake in how a program is put together or run; the program has to be changed.

    A type checker finds most such mistakes before anything runs. No step recovers from a `Misuse`,
    whatever its `on` says.

    >>> from ixbackoff import N0, at
    >>> at(N0).backoff()
    Traceback (most recent call last):
    ixbackoff.Misuse: .backoff() goes one rung down, but no wait is left at N0: start the program on a higher rung, or leave the step out.
    """  # noqa: E501

    unanswered: type | None = None  # the first kind without a handler; `name_all` adds the others


class AnyCommand:
    """The base of all commands; not generic, so its handler can be joined to any other handler."""

    __slots__ = ()


class Command(AnyCommand, Value, Generic[R]):
    """One effect as data; `R` is the type of its answer.

    A subclass is a frozen dataclass or a class with `__slots__`; it is compared and printed by its
    fields. A command does nothing by itself: a handler in an interpreter answers it. A subclass
    cannot override `handled_by`, `awaited_by` or `handled_as_in`, so each handler returns an `R`.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class GetETag(Command[str]):
    ...     url: str
    >>> GetETag("http://localhost/a")
    GetETag(url='http://localhost/a')
    """

    __slots__ = ()
    _only_the_ladder = False  # true if attempts cannot issue it
    _answered_by_runs = False  # true if handlers cannot answer it

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        for name in ("handled_by", "awaited_by", "handled_as_in"):
            method: object = getattr(getattr(cls, name), "__func__", None)
            if method is not getattr(Command, name).__func__:
                raise Misuse(
                    f"{cls.__name__} cannot override {name}, or a handler could return another "
                    "type than the command's answer: give this method another name."
                )

    if TYPE_CHECKING:

        def __iter__(self) -> Generator[Self, Any, R]:
            raise NotImplementedError

    else:  # the hottest line: a variable with the type of the answer would slow it down

        def __iter__(self):
            """Issue the command in do-notation: `answer = yield from command`."""
            return (yield self)

    def _alone(self) -> None:
        """Mark this for type checkers as one effect, not a generator of effects."""

    @final
    @classmethod
    def handled_by(cls, handler: Callable[[Self], R]) -> Interpreter[Self]:
        """Make the interpreter that answers this kind of command with `handler(command)`.

        An exception that the handler raises is the command's failure.

        >>> from ixbackoff import N0, Log, at
        >>> at(N0).do(Log("hello")).run(Log.handled_by(lambda command: print(command.message)))
        hello

        Raises:
            TypeError: `handler` is not callable, or it is a coroutine function.
            Misuse: runs answer this kind themselves.
        """
        cls._check_handled()
        if not callable(handler):
            raise TypeError(f"{cls.__name__}.handled_by({handler!r}): give a function.")
        if is_coroutine_function(handler):
            raise TypeError(
                f"{cls.__name__}.handled_by({_name(handler)}): it is a coroutine function, "
                f"so write {cls.__name__}.awaited_by({_name(handler)}) and run with run_async."
            )
        return interpreter_of(Interpreter, {cls: handler})

    @final
    @classmethod
    def awaited_by(cls, handler: Callable[[Self], Awaitable[R]]) -> AsyncInterpreter[Self]:
        """Make the interpreter that answers this kind of command with `await handler(command)`.

        >>> import asyncio
        >>> from ixbackoff import N0, Log, at
        >>> async def say(command: Log) -> None:
        ...     await asyncio.sleep(0)
        ...     print(command.message)
        >>> asyncio.run(at(N0).do(Log("hello")).run_async(Log.awaited_by(say)))
        hello

        Raises:
            TypeError: `handler` is not callable.
            Misuse: runs answer this kind themselves.
        """
        cls._check_handled()
        if not callable(handler):
            raise TypeError(f"{cls.__name__}.awaited_by({handler!r}): give a coroutine function.")
        return interpreter_of(AsyncInterpreter, {cls: Awaited(handler)})

    @overload
    @classmethod
    def handled_as_in(cls, interpreter: Interpreter[Self]) -> Interpreter[Self]: ...
    @overload
    @classmethod
    def handled_as_in(cls, interpreter: AsyncInterpreter[Self]) -> AsyncInterpreter[Self]: ...
    @final
    @classmethod
    def handled_as_in(cls, interpreter: I_any) -> I_any:
        """Return an interpreter with only those handlers of `interpreter` that answer this kind.

        Two handlers of one generic kind, such as `Call`, cannot be joined. To replace the one in an
        interpreter, take the handlers of other kinds from that interpreter, and join your own:

        >>> from ixbackoff import Call, Delay
        >>> from ixbackoff.live import live
        >>> Delay.handled_as_in(live()) | Call[int].handled_by(lambda command: 3)
        <Interpreter of Delay, Call>

        Raises:
            Misuse: `interpreter` is not an interpreter, or has no handler of this kind.
        """
        cls._check_handled()
        if not isinstance(interpreter, Interpreter | AsyncInterpreter):
            raise Misuse(f"{cls.__name__}.handled_as_in({interpreter!r}): give an interpreter.")
        handlers: Handlers = interpreter._handlers
        own = {kind: handler for kind, handler in handlers.items() if issubclass(kind, cls)}
        return interpreter_of(type(interpreter), {cls: inherited(handlers, cls)} | own)

    @classmethod
    def _check_handled(cls) -> None:
        if cls._answered_by_runs:
            raise Misuse(
                f"{cls.__name__} has no handler: each run performs it, and asks the handlers of "
                "the commands in it."
            )


class Repeatable(Command[R]):
    """A command that does no harm if it is issued twice, however late a copy is carried out.

    Derive a command from it if the command only reads, or if its service carries it out once even
    when asked twice (with the same `Idempotency-Key`). A PUT is not enough: an abandoned copy may
    be carried out much later, and replace a newer value.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class GetETag(Repeatable[str]):
    ...     url: str
    """

    __slots__ = ()


Stream: TypeAlias = Generator[Command[Any], Any, Any]
"""A generator of the commands of a program, into which the loop sends the answer to each."""


if TYPE_CHECKING:

    class Wrapper(Protocol):
        """A function that answers each command, given the handler of the command."""

        def __call__(self, command: Command[R], handler: Callable[[Command[R]], R], /) -> R: ...

    class AwaitedWrapper(Protocol):
        """A coroutine function that answers each command, given the handler to await."""

        def __call__(
            self, command: Command[R], handler: Callable[[Command[R]], Awaitable[R]], /
        ) -> Awaitable[R]: ...


class Table:
    """A table of handlers; a `Stream` may call those in `_in_place` itself, without yielding."""

    __slots__ = ("_handlers", "_in_place")
    _handlers: Handlers
    _in_place: Handlers
    if not TYPE_CHECKING:
        __getattr__ = no_attribute

    def __repr__(self) -> str:
        kinds = ", ".join(kind.__name__ for kind in self._handlers)
        return f"<{self.__class__.__name__} of {kinds}>"


@final
class Interpreter(Table, Generic[E_contra]):
    """A table of handlers, one for each kind of command: it answers every command in `E_contra`.

    `Kind.handled_by(function)` makes one for one kind. `a | b` answers what either of them answers;
    where both can, `b` does. Two handlers of one generic kind, such as `Call`, cannot be joined: a
    run does not know the type of a `Call`'s answer, so one of them would answer for both.

    >>> from ixbackoff import Download, Log
    >>> Log.handled_by(print) | Download.handled_by(print)
    <Interpreter of Log, Download>
    """

    __slots__ = ()

    def __init__(self, _sealed: Never) -> None:
        raise TypeError("Make an interpreter from handlers: SomeCommand.handled_by(...) | ...")

    def __or__(self, other: Interpreter[F]) -> Interpreter[E_contra | F]:
        if not isinstance(other, Interpreter):
            return NotImplemented
        return joined(Interpreter, self, other)

    def around(self, wrapper: Wrapper) -> Interpreter[E_contra]:
        """Make an interpreter that answers by `wrapper(command, handler)`: for traces and metrics.

        >>> from collections.abc import Callable
        >>> from typing import TypeVar
        >>> from ixbackoff import Command
        >>> R = TypeVar("R")
        >>> def traced(command: Command[R], handler: Callable[[Command[R]], R]) -> R:
        ...     print("asked:", command)
        ...     return handler(command)
        >>> from ixbackoff import N0, Log, at
        >>> quiet = Log.handled_by(lambda command: None)
        >>> at(N0).do(Log("hello")).run(quiet.around(traced))
        asked: Log(message='hello', level=20)
        """

        def wrapped(handler: Handler) -> Handler:
            return lambda command: wrapper(command, handler)

        handlers = {kind: wrapped(handler) for kind, handler in self._handlers.items()}
        return interpreter_of(Interpreter, handlers)


@final
class AsyncInterpreter(Table, Generic[E_contra]):
    """A table of handlers, plain and awaited, for `run_async`.

    `Kind.awaited_by(function)` makes one for one kind; `|` also joins an `Interpreter` to it.

    >>> from asyncio import sleep
    >>> from ixbackoff import Delay, Log
    >>> Delay.awaited_by(lambda command: sleep(command.seconds)) | Log.handled_by(print)
    <AsyncInterpreter of Delay, Log>
    """

    __slots__ = ()

    def __init__(self, _sealed: Never) -> None:
        raise TypeError("Make an interpreter from handlers: SomeCommand.awaited_by(...) | ...")

    def __or__(self, other: Interpreter[F] | AsyncInterpreter[F]) -> AsyncInterpreter[E_contra | F]:
        if not isinstance(other, Interpreter | AsyncInterpreter):
            return NotImplemented
        return joined(AsyncInterpreter, self, other)

    def __ror__(self, other: Interpreter[F]) -> AsyncInterpreter[E_contra | F]:
        if not isinstance(other, Interpreter):
            return NotImplemented
        return joined(AsyncInterpreter, other, self)

    def around(self, wrapper: AwaitedWrapper) -> AsyncInterpreter[E_contra]:
        """Make an interpreter that answers by `await wrapper(command, handler)`.

        The wrapper can always await its `handler`, even a plain one.
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
        return interpreter_of(AsyncInterpreter, handlers)


def joined(cls: type[I_any], left: Table, right: Table) -> I_any:
    handlers, in_place = left._handlers, left._in_place
    for kind in right._handlers:
        if _is_generic(kind):
            check_apart(kind, left._handlers)
        if kind in handlers or kind.__subclasses__():
            handlers, in_place = without(handlers, kind), without(in_place, kind)
    return interpreter_of(cls, handlers | right._handlers, in_place | right._in_place)


def check_apart(kind: type, handlers: Handlers) -> None:
    """Check that a handler of a generic `kind` would answer no command that `handlers` answers."""
    for other in handlers:
        if issubclass(other, kind) or (_is_generic(other) and issubclass(kind, other)):
            raise Misuse(
                f"Both interpreters answer {other.__name__}, but a run does not know the type of a "
                f"{kind.__name__}'s answer, so one handler would answer for the other: write one "
                "handler for both, or take only what you need from the left interpreter, as in "
                f"Delay.handled_as_in(interpreter) | {kind.__name__}.handled_by(...)."
            )


def join_tables(left: Handlers, right: Handlers) -> Handlers:
    """Join two tables; kinds in `right` and their subclasses lose their handlers in `left`."""
    return without(left, *right) | right


def without(handlers: Handlers, *kinds: type) -> Handlers:
    return {kind: handler for kind, handler in handlers.items() if not issubclass(kind, kinds)}


def inherited(handlers: Handlers, kind: type) -> Any:
    """Return the handler of `kind` or of its nearest base class; raise Misuse if there is none."""
    for base in kind.__mro__:
        if base in handlers:
            return handlers[base]
    if not issubclass(kind, Command):
        yielded = "None" if kind is NoneType else f"a {kind.__name__}"
        raise Misuse(
            f"An attempt yielded {yielded}, which is not a command: write `yield from` with a "
            "command or an attempt."
        ) from None
    missing = Misuse(without_handlers([kind]))
    missing.unanswered = kind
    raise missing from None


def without_handlers(kinds: list[type]) -> str:
    *others, last = names = [kind.__name__ for kind in kinds]
    named = f"{', '.join(others)} and {last}" if others else last
    awaited = {"CallAsync", "ReadAsync"} & {*names}
    joins = " | ".join(
        f"{one}.{'awaited_by' if one in awaited else 'handled_by'}(...)" for one in names
    )
    live = "live_async(), with run_async," if awaited else "live()"
    return (
        f"No handler for {named}: join {'them' if others else 'one'} to the interpreter, "
        f"interpreter | {joins}; {live} answers the standard commands."
    )


def interpreter_of(cls: type[I_any], handlers: Handlers, in_place: Handlers | None = None) -> I_any:
    """Make an interpreter of a table of handlers; every interpreter is made here."""
    made = object.__new__(cls)
    made._handlers = handlers
    if in_place is None:
        in_place = {
            kind: handler
            for kind, handler in handlers.items()
            if not (isinstance(handler, Awaited) or getattr(kind, "_only_the_ladder", False))
        }
    made._in_place = in_place
    return made


def unawaited(answer: Any, command: Command[Any]) -> Misuse:
    """Close the coroutine that a plain handler returned, and make the error about it."""
    answer.close()
    kind = command.__class__.__name__
    fix = f"join it as {kind}.awaited_by(...) and run with run_async."
    if kind in ("Call", "Read"):  # the user joins no handler: live_async() has that of CallAsync
        fix = f"write {kind.lower()}_async(...), and .run_async(live_async())."
    return Misuse(f"The handler of {kind} answered a coroutine: {fix}")


F_any = TypeVar("F_any", bound=BaseException)


def raisable(error: F_any) -> F_any | RuntimeError:
    """Return an exception that a generator can raise: a `RuntimeError` for a StopIteration."""
    return stop_error(error) if isinstance(error, StopIteration) else error


def stop_error(error: BaseException) -> RuntimeError:
    """Make the `RuntimeError` in place of a StopIteration, which would end the generator."""
    made = RuntimeError(f"A handler raised {error!r}, which ends generators: raise another error.")
    made.__cause__ = error
    return made


def _is_generic(kind: type) -> bool:
    return bool(getattr(kind, "__parameters__", ()))


def is_coroutine_function(function: Callable[..., object]) -> bool:
    marks = getattr(function, "__dict__", ())  # set by mocks and by `inspect.markcoroutinefunction`
    if "_is_coroutine" in marks or "_is_coroutine_mark" in marks:
        return True
    return bool(code_flags(function) & CO_COROUTINE)


def code_flags(function: Any) -> int:
    """Return the flags of a function's code, which tell its kind; 0 if it has none."""
    inner = function.func if isinstance(function, partial) else function
    inner = getattr(inner, "__func__", inner)  # of a method
    if not hasattr(inner, "__code__"):  # an object that can be called
        inner = getattr(inner.__class__, "__call__", None)  # noqa: B004
    flags = getattr(getattr(inner, "__code__", None), "co_flags", 0)
    return flags if isinstance(flags, int) else 0  # a mock has flags that are mocks


def _name(function: object) -> str:
    return getattr(function, "__name__", repr(function))
