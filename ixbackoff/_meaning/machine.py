"""The machine: a stack of generators, the topmost of which runs, so depth costs no recursion."""

from __future__ import annotations

from types import CoroutineType
from typing import Any

from .._limits.deadlines import Expired
from .._words.commands import Handlers, Misuse, Stream, unawaited
from .._words.vocabulary import Delay
from .runs import Run
from .steps import Task

CLOSED = 100
"""How often an attempt may ask for something in its `finally` blocks when nobody answers."""


class Inner:
    """What a generator asks for to have another one run first; it is sent what comes of that."""

    __slots__ = ("task",)

    def __init__(self, task: Task) -> None:
        self.task = task


def performed_on_a_stack(
    task: Task, run: Run, handlers: Handlers, callers: list[Task] | None = None
) -> Stream:
    """Run `task`, and issue every command that it asks for which `handlers` do not answer.

    A command that the topmost generator yields is answered. An `Inner` that it yields is run first,
    whatever the depth; one that it returns takes its place.
    """
    callers = callers or []
    value: Any = None
    failure: BaseException | None = None
    request: Any = None
    try:
        while True:
            send, throw = task.send, task.throw
            try:
                request = send(value) if failure is None else throw(failure)
                failure = None
                while request.__class__ is not Inner:
                    handler = handlers.get(request.__class__)
                    try:
                        if handler is not None:
                            value = handler(request)
                            if value.__class__ is CoroutineType:
                                raise unawaited(value, request)
                        elif request.__class__ is not Delay or request is run.wait:
                            value = yield request
                        else:
                            raise Misuse("An attempt cannot wait: raise NotReady instead.")
                    except GeneratorExit:
                        close([*callers, task])
                        callers.clear()
                        raise
                    except BaseException as error:
                        if error.__class__ is Expired:
                            run.expired = error
                        request = throw(error)
                    else:
                        request = send(value)
                callers.append(task)
                task, value = request.task, None
            except StopIteration as end:
                value, failure = end.value, None
                if value.__class__ is Inner:
                    task, value = value.task, None
                elif callers:
                    task = callers.pop()
                else:
                    break
            except BaseException as error:
                failure = error
                if not callers:
                    break
                task = callers.pop()
        return run.ended(value, failure)
    finally:  # an exception must not be kept alive by a frame in its own traceback
        failure = request = run.wait = run.not_waited = run.expired = None


def close(tasks: list[Task]) -> None:
    """End generators, the innermost first; nobody answers what their `finally` blocks ask for."""
    for task in reversed(tasks):
        try:
            for _ in range(CLOSED):
                task.throw(GeneratorExit())
        except BaseException:  # noqa: S112
            continue
        raise RuntimeError("An attempt goes on although it is closed.")
