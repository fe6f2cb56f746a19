"""Concurrent effects: in threads when a program runs, in tasks when it runs async."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, TypeAlias

from .._limits.deadlines import time_limit
from .._limits.forwarding import passed_on
from .._limits.nesting import RUNNING, Mark, carries_mark, this_thread
from .._limits.observers import events_of_parts
from .._meaning.chains import Chain, chain
from .._meaning.semantics import part
from .._meaning.steps import DoStep
from .._words.commands import Misuse, Stream
from .._words.failures import Predicate
from .._words.vocabulary import CLOCK, Together
from .aborting import ABORT, Abort
from .eventloops import all_tasks

if TYPE_CHECKING:
    from threading import Event, Thread

__tracebackhide__ = True

Answer: TypeAlias = Callable[[Stream], Any]
AnswerAsync: TypeAlias = Callable[[Stream], Awaitable[Any]]


class Aborted(BaseException):
    """An exception to abort concurrent effects, thrown into them so that they clean up."""


def branches(together: Together, ons: Sequence[list[Predicate] | None] = ()) -> list[Stream]:
    """Return the streams of the effects, each limited to the remaining time of the command."""
    attempts = [chain(Chain, None, DoStep(effect)) for effect in together.effects]
    within, pairs = time_limit(), zip(attempts, ons or [None] * len(attempts), strict=True)
    if within is None:
        return [part(attempt, mine) for attempt, mine in pairs]
    return [timed(attempt, within, mine) for attempt, mine in pairs]


def timed(attempt: Chain, within: float, ons: list[Predicate] | None) -> Stream:
    """Issue the commands of an attempt, with a limit if the interpreter has a clock.

    There is no clock if the limit is that of an outer program with another interpreter.
    """
    limit: float | None = within
    try:
        yield CLOCK
    except Misuse:
        limit = None
    return (yield from part(attempt, ons, limit))


def in_threads(together: Together, answer: Answer) -> list[Any]:
    """Answer each branch in a thread of its own.

    When a branch fails, or on Ctrl-C, the others are aborted at their next command, or sooner if
    their handler has registered a callback (`ABORT`). All threads have ended when this returns.
    """
    from threading import Event, Thread

    streams, with_events = branches(together), events_of_parts()
    answers: list[Any] = [None] * len(streams)
    failures: list[BaseException] = []
    over = [Event() for _ in streams]
    abort, outer = Abort(), ABORT.get()
    if outer is not None:
        outer.on_request(abort.request)

    @carries_mark
    def work(place: int, stream: Stream) -> None:
        mine = RUNNING.get()  # a retry in another context looks for it
        this_thread().mark = mine
        try:
            answers[place] = answer(with_events(abortable(stream, failures)))
        except BaseException as error:
            failures.append(error)
            abort.request()
        finally:
            over[place].set()

    def begin(place: int, stream: Stream) -> None:
        ABORT.set(abort)
        work(place, stream)

    threads = [
        Thread(target=copy_context().run, args=(begin, place, stream), daemon=True)
        for place, stream in enumerate(streams)
    ]
    try:
        for thread in threads:
            thread.start()
        wait_for(threads, over)
    except BaseException as error:  # such as Ctrl-C
        failures.insert(0, error)
        abort.request()
        wait_for(threads, over)
    try:
        check_none(failures)
    finally:
        failures.clear()
    return answers


def wait_for(threads: list[Thread], over: list[Event]) -> None:
    """Wait until all started threads have ended.

    `join` alone is not enough: a `join` that Ctrl-C interrupts marks the thread as ended.
    """
    for thread, event in zip(threads, over, strict=True):
        if thread.ident is not None:
            event.wait()
            thread.join()


def abortable(stream: Stream, failures: list[BaseException]) -> Stream:
    """Pass `stream` on, but abort it at its next command once `failures` is not empty."""
    aborted = False

    def instead(_: Any) -> None:
        nonlocal aborted
        if failures and not aborted:
            aborted = True
            ABORT.set(None)  # a cleanup is not aborted
            raise Aborted

    return passed_on(stream, instead)


async def in_tasks(together: Together, answer: AnswerAsync) -> list[Any]:
    streams, with_events = branches(together), events_of_parts()
    answers: list[Any] = [None] * len(streams)
    failures: list[BaseException] = []
    mark = RUNNING.get()

    @carries_mark
    async def work(place: int, stream: Stream, mine: Mark = mark) -> None:  # noqa: ARG001
        answers[place] = await answer(with_events(stream))

    try:
        await all_tasks(work, streams, failures)
        check_none(failures)
    finally:
        failures.clear()
    return answers


def check_none(failures: list[BaseException]) -> None:
    """Raise a failure, if there is one: preferably Ctrl-C or the like, else the first."""
    ordinary = (Exception, BaseExceptionGroup, Aborted)
    interrupts = [failure for failure in failures if not isinstance(failure, ordinary)]
    for failure in interrupts or failures:
        interrupts.clear()
        try:
            raise failure
        finally:
            del failure  # break the cycle of exception, traceback and this frame
