"""`for` and `with`: a block of code that is tried again."""

from __future__ import annotations

from types import TracebackType
from typing import Self, final

from .commands import Command, Handlers, Misuse
from .loops import answered, answered_async
from .nesting import Mark, begun, end
from .replay import Stream


class Block(Command[None]):
    """Run the block of code; the `for` loop around it answers."""

    __slots__ = ()


@final
class Try:
    """One try of a block of code: `with` it, what fails in the block is its failure.

    Attributes:
        number: which try it is, from 1.
    """

    __slots__ = ("_done", "_failure", "_mark", "_stream", "_waits", "number")

    def __init__(self, number: int, stream: Stream, waits: bool) -> None:
        self.number = number
        self._stream = stream
        self._waits = waits
        self._done = False
        self._failure: Exception | None = None
        self._mark: Mark | None = None

    def __enter__(self) -> Self:
        if self._done:
            raise Misuse("One try runs the block once: go on to the next round of the loop.")
        self._mark = begun(self) if self._waits else None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        mark, self._mark = self._mark, None
        end(mark)
        self._done = True
        if isinstance(error, Exception):
            self._failure = error
            return True
        if error is None:  # now, since `return` or `break` in the block may leave the loop
            next(self._stream, None)
        self._stream.close()
        return False

    def outcome(self) -> Exception | None:
        """What failed, forgotten here.

        Raises:
            Misuse: the block was not run.
        """
        if not self._done:
            return Misuse("The block was not run: write `with` and the loop's variable around it.")
        failure, self._failure = self._failure, None
        return failure


class Loop:
    """What asks `stream` how to go on after each try of the block.

    Args:
        stream: asks for the block, and for what comes between.
        handlers: they answer what comes between.
        waits: whether there is a wait in it.
    """

    __slots__ = ("_handlers", "_last", "_number", "_stream", "_waits")

    def __init__(self, stream: Stream, handlers: Handlers, waits: bool) -> None:
        self._stream = stream
        self._handlers = handlers
        self._waits = waits
        self._number = 0
        self._last: Try | None = None

    def _next(self) -> Try:
        self._number += 1
        self._last = Try(self._number, self._stream, self._waits)
        return self._last

    def _between(self) -> Stream:
        """What `stream` asks for before it asks for the block; whether it does."""
        stream, last = self._stream, self._last
        failure = None if last is None else last.outcome()
        command: Command[object] | None = None
        try:
            command = stream.send(None) if failure is None else stream.throw(failure)
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
        finally:  # an exception must not be kept alive by a frame in its own traceback
            failure = command = None


@final
class Tries(Loop):
    """The tries of a block, for `for`."""

    __slots__ = ()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Try:
        if answered(self._between(), self._handlers):
            return self._next()
        raise StopIteration


@final
class TriesAsync(Loop):
    """The tries of a block, for `async for`; the handlers may be awaited.

    It is no generator: one of those would not be closed at once when the block returns.
    """

    __slots__ = ()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Try:
        if await answered_async(self._between(), self._handlers):
            return self._next()
        raise StopAsyncIteration
