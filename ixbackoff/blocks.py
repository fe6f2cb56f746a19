"""`for` and `with`: a block of code that is tried again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import Any, Self, final

from .commands import Command, Handlers, Misuse, inherited
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

    __slots__ = ("_done", "_failure", "_mark", "number")

    def __init__(self, number: int) -> None:
        self.number = number
        self._done = False
        self._failure: Exception | None = None
        self._mark: Mark | None = None

    def __enter__(self) -> Self:
        self._mark = begun(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        end(self._mark)
        self._done = True
        if isinstance(error, Exception):
            self._failure = error
        return self._failure is not None

    def check(self) -> None:
        """Raise its failure, if it failed.

        Raises:
            Misuse: the block was not run.
        """
        if not self._done:
            raise Misuse("The block was not run: write `with` and the loop's variable around it.")
        if self._failure is not None:
            failure, self._failure = self._failure, None
            try:
                raise failure
            finally:
                del failure  # an exception must not be kept alive by a frame in its own traceback


def tries(stream: Stream, handlers: Handlers) -> Iterator[Try]:
    """A try for each time that `stream` asks for the block; the rest is answered by handlers."""
    number = 0
    answer: Any = None
    failure: BaseException | None = None
    command: Command[Any] | None = None
    try:
        while True:
            command = stream.send(answer) if failure is None else stream.throw(failure)
            answer = failure = None
            try:
                if command.__class__ is Block:
                    number += 1
                    one = Try(number)
                    yield one
                    one.check()
                else:
                    answer = inherited(handlers, command.__class__)(command)
            except BaseException as error:
                failure = error
    except StopIteration:
        return
    finally:
        failure = command = None


async def tries_async(stream: Stream, handlers: Handlers) -> AsyncIterator[Try]:
    """As `tries`; the handlers may be awaited."""
    number = 0
    answer: Any = None
    failure: BaseException | None = None
    command: Command[Any] | None = None
    try:
        while True:
            command = stream.send(answer) if failure is None else stream.throw(failure)
            answer = failure = None
            try:
                if command.__class__ is Block:
                    number += 1
                    one = Try(number)
                    yield one
                    one.check()
                else:
                    awaits, handler = inherited(handlers, command.__class__)
                    answer = await handler(command) if awaits else handler(command)
            except BaseException as error:
                failure = error
    except StopIteration:
        return
    finally:
        failure = command = None
