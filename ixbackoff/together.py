"""Effects at the same time: in threads when a program runs, in tasks when it runs async."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import copy_context
from typing import Any, TypeAlias

from .chains import Chain, chain
from .deadlines import time_limit
from .eventloops import all_tasks
from .replay import Stream
from .semantics import unroll
from .steps import Do
from .vocabulary import Together

Answer: TypeAlias = Callable[[Stream], Any]
AnswerAsync: TypeAlias = Callable[[Stream], Awaitable[Any]]


class Ended(BaseException):
    """What is thrown into the rest when one of them has failed: their `finally` blocks run."""


def branches(together: Together) -> list[Stream]:
    """The streams of its effects, each of which has what is left of its time."""
    within = time_limit()
    return [unroll(chain(Chain, None, Do(effect)), within=within) for effect in together.effects]


def in_threads(together: Together, answer: Answer) -> list[Any]:
    """Answer each branch in a thread of its own.

    When one fails, the others are told at their next command, and all have ended when this returns:
    a thread cannot be ended from outside.
    """
    from threading import Thread

    streams = branches(together)
    answers: list[Any] = [None] * len(streams)
    failures: list[BaseException] = []

    def work(place: int, stream: Stream) -> None:
        try:
            answers[place] = answer(until(stream, failures))
        except BaseException as error:
            failures.append(error)

    threads = [
        Thread(target=copy_context().run, args=(work, place, stream), daemon=True)
        for place, stream in enumerate(streams)
    ]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    except BaseException as error:  # such as Ctrl-C
        failures.insert(0, error)
        for thread in threads:
            if thread.ident is not None:
                thread.join()
    if not failures:
        return answers
    failure = failures[0]
    failures.clear()
    try:
        raise failure
    finally:
        del failure  # an exception must not be kept alive by a frame in its own traceback


def until(stream: Stream, failures: list[BaseException]) -> Stream:
    """`stream`, which ends at its next command when one of its siblings has failed."""
    answer: Any = None
    failure: BaseException | None = None
    ended = False
    try:
        while True:
            command = stream.send(answer) if failure is None else stream.throw(failure)
            answer = failure = None
            try:
                if failures and not ended:
                    ended = True
                    raise Ended
                answer = yield command
            except BaseException as error:
                failure = error
    except StopIteration as end:
        return end.value
    finally:
        failure = None


async def in_tasks(together: Together, answer: AnswerAsync) -> list[Any]:
    """Answer each branch in a task of its own. When one fails, the others are cancelled."""
    streams = branches(together)
    answers: list[Any] = [None] * len(streams)
    failures: list[BaseException] = []

    async def work(place: int, stream: Stream) -> None:
        try:
            answers[place] = await answer(stream)
        except Exception as error:
            failures.append(error)
            raise

    try:
        await all_tasks(work, streams)
    except BaseExceptionGroup as group:
        failure = failures[0] if failures else group.exceptions[0]
        failures.clear()
        try:
            raise failure from None
        finally:
            del failure, group  # as above
    return answers
