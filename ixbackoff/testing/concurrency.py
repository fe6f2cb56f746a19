"""Concurrent effects in virtual time: their commands take turns, each with its own clock."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress
from contextvars import Context, copy_context
from heapq import heappop, heappush
from typing import Any, Protocol, TypeAlias

from .._limits.deadlines import LEFT
from .._limits.observers import events_of_parts
from .._running.together import Aborted, branches
from .._words.commands import Command, Stream
from .._words.vocabulary import Together

__tracebackhide__ = True

Outcome: TypeAlias = Generator[Command[Any], Any, tuple[Any, BaseException | None]]


class Clock(Protocol):
    """A virtual clock, which commands advance."""

    now: float


def interleaved(together: Together, world: Clock) -> Generator[Command[Any], Any, list[Any]]:
    """Issue the commands of all branches, in the order of virtual time.

    The first failure in that order ends the other branches, and the answers to their commands are
    dropped.
    """
    streams = list(map(events_of_parts(), branches(together)))
    contexts = [copy_context() for _ in streams]  # each stream has its own time limits
    answers: list[Any] = [None] * len(streams)
    # the answer or failure of the current command of each branch, and its time of arrival
    queue: list[tuple[float, int, Any, BaseException | None]]
    queue = [(world.now, index, None, None) for index in range(len(streams))]
    answer: Any = None
    failure: BaseException | None = None
    try:
        while queue:
            world.now, index, answer, failure = heappop(queue)
            try:
                command = contexts[index].run(advanced, streams[index], answer, failure)
                answer, failure = yield from outcome(command, contexts[index])
                heappush(queue, (world.now, index, answer, failure))
            except StopIteration as end:
                answers[index] = end.value
    except GeneratorExit:  # no command is answered any more
        for stream in streams:
            stream.close()
        raise
    except BaseException:
        for _, index in sorted(one[:2] for one in queue):
            yield from ended(streams[index], contexts[index])
        raise
    finally:
        queue.clear()
        failure = None
    return answers


def advanced(stream: Stream, answer: Any, failure: BaseException | None) -> Command[Any]:
    try:
        return stream.send(answer) if failure is None else stream.throw(failure)
    finally:
        del failure


def outcome(
    command: Command[Any], context: Context
) -> Generator[Command[Any], Any, tuple[Any, BaseException | None]]:
    """Issue a command within the time limit of its branch, and return its answer or its failure."""
    before = LEFT.get()
    LEFT.set(context.get(LEFT))
    try:
        return (yield command), None
    except GeneratorExit:
        raise
    except BaseException as error:
        return None, error
    finally:
        LEFT.set(before)


def ended(stream: Stream, context: Context) -> Generator[Command[Any], Any, None]:
    """End a branch; the commands of its `finally` blocks are still performed."""
    failure: BaseException | None = Aborted()
    answer: Any = None
    try:
        with suppress(Exception, Aborted, StopIteration):
            while True:
                command = context.run(advanced, stream, answer, failure)
                answer, failure = yield from outcome(command, context)
    finally:
        failure = None
