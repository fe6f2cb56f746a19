"""Concurrent effects in virtual time: the branch whose answer arrives first continues first."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress
from contextvars import Context, copy_context
from heapq import heappop, heappush
from typing import Any, Protocol, TypeAlias

from .._limits.deadlines import LEFT
from .._limits.observers import events_of_parts
from .._running.concurrent_effects import Aborted, Rules
from .._words.commands import Command, Stream
from .._words.standard_commands import Together

__tracebackhide__ = True

Outcome: TypeAlias = Generator[Command[Any], Any, tuple[Any, BaseException | None]]


class Clock(Protocol):
    """A virtual clock, which commands advance."""

    now: float


def interleaved(together: Together, world: Clock) -> Generator[Command[Any], Any, Any]:
    """Issue the commands of all branches, in the order of virtual time.

    Once the result is certain, the branches that still run are aborted, and the answers to their
    commands are dropped.
    """
    rules, with_events = Rules(together), events_of_parts()
    running: dict[int, tuple[Stream, Context]] = {}  # each stream has its own time limits
    # the answer or failure of the current command of each branch, and its time of arrival
    queue: list[tuple[float, int, Any, BaseException | None]]
    queue = [(world.now + after, index, None, None) for index, after in enumerate(rules.starts)]
    answer: Any = None
    failure: BaseException | None = None
    try:
        while not rules.over:
            world.now, index, answer, failure = heappop(queue)
            if index not in running:
                begun = rules.begin(index, world.now)
                if begun is None:
                    continue
                running[index] = with_events(begun), copy_context()
            stream, context = running[index]
            try:
                command = context.run(advanced, stream, answer, failure)
                answer, failure = yield from outcome(command, context)
                heappush(queue, (world.now, index, answer, failure))
                continue
            except StopIteration as end:
                answer, failure = end.value, None
            except GeneratorExit:  # no command is answered any more
                for stream, _ in running.values():
                    stream.close()
                raise
            except BaseException as error:
                answer, failure = None, error
            rules.end(index, answer, failure, world.now)
        for _, index in sorted(one[:2] for one in queue):
            if index in rules.begun:
                yield from ended(*running[index])
        answer, failure = rules.result()
        if failure is not None:
            raise failure
        return answer
    finally:
        queue.clear()
        failure = None


def advanced(stream: Stream, answer: Any, failure: BaseException | None) -> Command[Any]:
    try:
        return stream.send(answer) if failure is None else stream.throw(failure)
    finally:
        del failure


def outcome(command: Command[Any], context: Context) -> Outcome:
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
