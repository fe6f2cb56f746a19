"""Blocks of code that are retried, by `for` and `with`."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from types import FrameType, TracebackType
from typing import Any, Self, final

from .._limits.deadlines import LEFT, Left
from .._limits.event_loop import cancelled_since
from .._limits.nesting import REJECTED, Mark, begin, check_alone, check_not_rejected, may_be_inside
from .._meaning.chains import Ladder, renamed
from .._meaning.run_state import ProgramRun
from .._meaning.semantics import unrolled
from .._running.command_loops import answered, answered_async
from .._running.sleeping import log_ended
from .._words.commands import Command, Handlers, Misuse, Stream
from .called_function import Called
from .nested_once import guarded_once, hurry, noting_once, once_in_request

__tracebackhide__ = True


class Block(Command[None]):
    """The command to run the block; the `for` loop around the block answers it."""

    __slots__ = ()


def block_in(frame: FrameType, backoff: Any) -> tuple[Called | None, Stream, ProgramRun]:
    """Make the `Called` (`None` for a single try), the stream and the run of a block."""
    if backoff._settings.until is not None:
        raise Misuse("until= is for functions, which have an answer: raise NotReady instead.")
    inner = Called(backoff, None, frame.f_code.co_qualname.rpartition("<locals>.")[2])
    outer = check_alone(inner, once=True) if backoff._top and may_be_inside() else None
    outer = outer or once_in_request(inner)
    once = backoff._top == 0 or outer is not None
    guarded = guarded_once(backoff, outer)
    tried: Ladder = guarded._once(Block()) if once else guarded._program(Block())
    program = renamed(Ladder, tried, inner.name)
    run = ProgramRun(program, backoff._settings.schedule)
    how = guarded._settings.defaults.replace(None, hurry(backoff))
    stream = unrolled(program, how, run=run, observed=True)
    if outer is not None:
        stream = noting_once(stream, inner, outer)
    return None if once else inner, stream, run


@final
class Try:
    """One try of a block of code: `with one_try:` around the block catches its failure.

    Attributes:
        number: the number of the try, from 1.
    """

    __slots__ = (
        *("_before", "_done", "_failure", "_handlers", "_inner", "_left", "_mark", "_stream"),
        "number",
    )

    def __init__(
        self,
        number: int,
        inner: Called | None,
        stream: Stream,
        left: Left | None,
        handlers: Handlers,
    ) -> None:
        self.number = number
        self._inner = inner
        self._stream = stream
        self._left = left
        self._handlers = handlers
        self._before: Left | None = None
        self._done: bool | None = None  # `None` until the block is entered
        self._failure: Exception | None = None
        self._mark: Mark = [None, number - 1]

    def __enter__(self) -> Self:
        if self._done:
            raise Misuse("One try runs the block once: continue with the next round of the loop.")
        self._before = LEFT.get()
        self._done = False
        try:
            if self._inner is not None:
                begin(self._mark, self._inner)
            LEFT.set(self._left)
            return self  # noqa: TRY300  in an `else`, Ctrl-C here would leave the mark set
        except BaseException:
            self._mark[0] = None
            LEFT.set(self._before)
            self._stream.close()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        try:
            self._mark[0] = None
            LEFT.set(self._before)
            self._done = True
            if REJECTED:
                check_not_rejected(self._mark, error)
            return self._ended(error)
        except BaseException:  # such as Ctrl-C
            self._mark[0] = None
            LEFT.set(self._before)
            self._stream.close()
            raise

    def _ended(self, error: BaseException | None) -> bool:
        """Store the failure of the block, or end the run; return whether the failure is caught."""
        # Not StopIteration: if `__next__` or `__anext__` raised it later, the loop could just end.
        if isinstance(error, Exception) and not isinstance(
            error, StopIteration | StopAsyncIteration
        ):
            self._failure = error
            return True
        if error is None:  # `return` or `break` may leave the loop: end the run now
            command = next(self._stream, None)
            if command is not None:  # such as `Now`, for a breaker with a `rate`
                answered(rest(self._stream, command), self._handlers)
        elif not isinstance(error, Exception | GeneratorExit):  # such as Ctrl-C; observers see it
            traceback = error.__traceback__
            with suppress(type(error)):
                self._stream.throw(error)
            error.__traceback__ = traceback
        self._stream.close()
        return False

    def outcome(self) -> Exception | None:
        if not self._done:
            self._done = False
            return Misuse("The block was not run: write `with` and the loop's variable around it.")
        failure, self._failure = self._failure, None
        return failure


class BlockLoop:
    """A loop over the tries of a block, which performs the commands of `stream` between them.

    Each try marks its context with `inner`, which is `None` if the block gets a single try.
    """

    __slots__ = ("_handlers", "_inner", "_last", "_left", "_number", "_run", "_stream")

    def __init__(
        self, inner: Called | None, stream: Stream, run: ProgramRun, handlers: Handlers
    ) -> None:
        self._inner = inner
        self._run = run
        self._stream = stream
        self._handlers = handlers
        self._left: Left | None = None
        self._number = 0
        self._last: Try | None = None

    def __del__(self) -> None:
        last: Try | None = getattr(self, "_last", None)  # unset if Ctrl-C struck in `__init__`
        if last is not None:  # its mark is still set if Ctrl-C struck before `__exit__`
            last._mark[0] = None
            if last._done is None and not has_with(sys._getframe(1)):
                from warnings import warn

                said = "A try of a backoff did not run its block, so nothing is retried: write"
                warn(f"{said} `with` and the loop's variable around it.", RuntimeWarning, 2)
        stream: Stream | None = getattr(self, "_stream", None)
        if stream is not None:
            stream.close()

    def _next(self) -> Try:
        self._number += 1
        self._last = Try(self._number, self._inner, self._stream, self._left, self._handlers)
        return self._last

    @contextmanager
    def _running(self) -> Generator[None]:
        """Mark the context while commands between two tries run, to reject a retry inside them.

        The time limit that the stream sets applies to the block, not to the code around it.
        """
        before = LEFT.get()
        mine: Mark = [None, 0]
        try:
            if self._inner is not None:
                begin(mine, self._inner)
            yield
            self._left = LEFT.get()
        except Exception as failure:
            log_ended(self._run, failure, self._handlers)
            self._stream.close()
            raise
        except BaseException:  # Ctrl-C ends the run now, not when the stream is collected
            self._stream.close()
            raise
        finally:
            mine[0] = None
            LEFT.set(before)

    def _between(self) -> Stream:
        """Issue the commands of `stream` before the next try; return `False` if no try is left."""
        stream, last = self._stream, self._last
        failure = None if last is None else last.outcome()
        command: Command[Any] | None = None
        try:
            if failure is None:
                command = stream.send(None)
            else:
                try:
                    raise failure  # it becomes the context of an exception in a predicate
                except Exception:
                    command = stream.throw(failure)
            failure = None
            while command.__class__ is not Block:
                try:
                    answer = yield command
                except BaseException as error:
                    command = stream.throw(error)
                else:
                    command = stream.send(answer)
        except StopIteration:
            return False
        else:
            return True
        finally:  # break the cycle of exception, traceback and this frame
            failure = command = None


def rest(stream: Stream, command: Command[Any]) -> Stream:
    """Issue `command`, which was taken from `stream`, and all later commands of `stream`."""
    with suppress(StopIteration):
        while True:
            command = stream.send((yield command))


def has_with(frame: FrameType) -> bool:
    """Return whether a function has a `with`; if so, a `break` may have skipped it."""
    from dis import get_instructions

    names = [one.opname for one in get_instructions(frame.f_code)]
    return any(name.startswith("BEFORE_") or name == "LOAD_SPECIAL" for name in names)


@final
class Tries(BlockLoop):
    __slots__ = ()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Try:
        with self._running():
            is_left = answered(self._between(), self._handlers)
        if is_left:
            return self._next()
        raise StopIteration


@final
class TriesAsync(BlockLoop):
    """An iterator, because an abandoned async generator would not be closed immediately."""

    __slots__ = ()

    def __init__(
        self, inner: Called | None, stream: Stream, run: ProgramRun, handlers: Handlers
    ) -> None:
        super().__init__(inner, stream, run, handlers)
        run.cancelled = cancelled_since()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Try:
        with self._running():
            is_left = await answered_async(self._between(), self._handlers)
        if is_left:
            return self._next()
        raise StopAsyncIteration
