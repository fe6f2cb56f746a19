"""The trampoline: a stack of generators, of which the topmost runs, so that depth is unlimited."""

from __future__ import annotations

from collections.abc import Callable, Generator
from types import CoroutineType, GeneratorType
from typing import Any, TypeAlias

from .._limits.deadlines import Expired, timely
from .._words.commands import Handlers, Misuse, Stream, raisable, unawaited
from .._words.standard_commands import CLOCK, LINE, Delay, Passage
from .chains import Chain, Ladder
from .run_state import InAttempt, ProgramRun

__tracebackhide__ = True

class_of: Callable[[Any], Any] = type  # the look-up of a command's `__class__` takes longer

Task: TypeAlias = Generator[Any, Any, Any]
"""A generator that yields commands and requests for other tasks, and is sent the answers."""

NO_ANSWERS = dict[type, Any]().get

CLOSED = 100
"""After so many commands in its `finally` blocks, a closed attempt counts as endless."""

# To perform an inner attempt, a generator yields a request, and the trampoline runs the task of the
# inner attempt on its own stack: depth costs no recursion. A native `yield from` is faster, but its
# depth is limited. Only attempts of a simulated client (see `fleet.task_performers`) use it, until
# the `room` of the client is used up, and only in its `thread`: another simulation or a run may be
# active in another thread. All other attempts yield a request.
IN_PLACE: list[Any] = [None]
"""The simulated client whose task runs now, in this thread or another one."""


class Enter:
    """The request of a task to run another task first, and to be sent the result."""

    __slots__ = ("task",)

    def __init__(self, task: Task) -> None:
        self.task = task


class Perform:
    """The request to perform an attempt, which `yield from attempt` issues."""

    __slots__ = ("chain",)

    def __init__(self, chain: Chain) -> None:
        given: object = chain
        if not isinstance(given, Chain) or isinstance(given, Ladder):
            raise Misuse("A program cannot run inside an attempt: join them with >> or .bind(...).")
        self.chain = chain


def driven(
    task: Task,
    run: ProgramRun,
    handlers: Handlers,
    perform: Callable[[Chain, InAttempt], Task],
    callers: list[Task] | None = None,
) -> Stream:
    """Drive `task` to its end, and issue every command that it yields.

    If a task yields an `Enter`, the entered task runs first, at any depth; if a task returns an
    `Enter`, the entered task takes its place.

    Args:
        task: the topmost task.
        run: the run, which holds the current limits, and ends with the task.
        handlers: the handlers to call here, without yielding the command, while no limit applies.
        perform: makes the task of an attempt.
        callers: the suspended tasks below, each of which waits for the next.
    """
    callers, limits, in_place = callers or [], run.limits, handlers.get
    value: Any = None
    failure: BaseException | None = None
    request: Any = None
    try:
        while True:
            send, throw = task.send, task.throw
            answers = NO_ANSWERS if limits else in_place  # limits change only between tasks
            kind = handler = None
            try:
                request = send(value) if failure is None else throw(failure)
                failure = None
                while True:
                    if kind is not class_of(request):  # often the class is the same again
                        kind = class_of(request)
                        if kind is Enter:
                            request = request.task
                            break
                        handler = answers(kind)
                    try:
                        if handler is not None:
                            value = handler(request)
                            if value.__class__ is CoroutineType:
                                raise unawaited(value, request)
                        elif kind is Perform:
                            request = perform(request.chain, run.inside)
                            break
                        elif kind is Delay and request is not run.wait and request._run is not LINE:
                            raise waits_in_an_attempt()
                        elif limits and request is not CLOCK and kind is not Passage:
                            value = yield from timely(request, limits)
                        else:
                            value = yield request
                    except GeneratorExit:
                        close(task, callers)
                        raise
                    except (Expired, StopIteration) as error:
                        request = throw(delivered(error, run))
                    except BaseException as error:
                        request = throw(error)
                    else:
                        request = send(value)
                callers.append(task)
                task, value = request, None
            except StopIteration as end:
                value, failure = end.value, None
                if value.__class__ is Enter:
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
    finally:  # break the cycle of exception, traceback and this frame
        failure = request = run.wait = run.not_waited = run.unchosen = run.expired = None


def delivered(error: BaseException, run: ProgramRun) -> BaseException:
    """Return the exception to throw into the task whose command raised `error`."""
    if isinstance(error, Expired):
        run.expire(error)
        return error
    return raisable(error)


def waits_in_an_attempt() -> Misuse:
    return Misuse("An attempt cannot wait: raise NotReady instead.")


def close(task: Task, callers: list[Task]) -> None:
    """Close a task, and then its callers; commands in their `finally` blocks are not answered."""
    for ending in [inner for ended in (*callers, task) for inner in nested(ended)][::-1]:
        try:
            for _ in range(CLOSED):
                ending.throw(GeneratorExit())
        except BaseException:  # noqa: S112
            continue
        raise RuntimeError("An attempt continues although it is closed.")
    callers.clear()


def nested(task: Task) -> list[Task]:
    """Return a task and the generators that run in it by `yield from`, the innermost last."""
    found: list[Any] = [task]
    while (inner := getattr(found[-1], "gi_yieldfrom", None)).__class__ is GeneratorType:
        found.append(inner)
    return found
