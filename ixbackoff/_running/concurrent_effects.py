"""Concurrent effects: their rules, and how threads and tasks answer them."""

from __future__ import annotations

from _thread import RLock
from collections.abc import Awaitable, Callable, Sequence
from contextvars import copy_context
from queue import Empty, SimpleQueue
from threading import Event as Signal
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeAlias

from typing_extensions import override

from .._limits.command_substitution import passed_on
from .._limits.deadlines import time_limit
from .._limits.events import Answered, Event, Hedged, Issued
from .._limits.nesting import RUNNING, Mark, carries_mark, this_thread
from .._limits.observers import WATCHING, Notifier, events_of_parts, with_command_events
from .._meaning.chains import Chain, chain
from .._meaning.semantics import part
from .._meaning.steps import DoStep
from .._words.commands import Misuse, Stream
from .._words.failure_classes import Predicate
from .._words.judging import asked_for, is_transient
from .._words.standard_commands import CLOCK, Together, checked_copy
from .aborting_handlers import ABORT, COPY, Abort
from .sleeping import poll_async
from .tasks_and_timeouts import all_tasks, now

if TYPE_CHECKING:
    from .._limits.hedges import Hedge

__tracebackhide__ = True

Answer: TypeAlias = Callable[[Stream], Any]
AnswerAsync: TypeAlias = Callable[[Stream], Awaitable[Any]]


class Aborted(BaseException):
    """An exception to abort concurrent effects, thrown into them so that they clean up."""


def branches(together: Together, ons: Sequence[list[Predicate] | None] = ()) -> list[Stream]:
    """Return the streams of the effects, each limited to the remaining time of the command."""
    given, within = ons or [None] * len(together.effects), time_limit()
    return [branch(together, place, within, mine) for place, mine in enumerate(given)]


def branch(
    together: Together, place: int, within: float | None, ons: list[Predicate] | None = None
) -> Stream:
    attempt = chain(Chain, None, DoStep(together.effects[place]))
    stream = part(attempt, ons) if within is None else timed(attempt, within, ons)
    return passed_on(stream, checked_copy) if together.copied else stream


def timed(attempt: Chain, within: float, ons: list[Predicate] | None) -> Stream:
    """Issue the commands of an attempt, with a limit if the interpreter has a clock.

    There may be no clock if the limit is that of an outer program with another interpreter.
    """
    limit: float | None = within
    try:
        yield CLOCK
    except Misuse:
        limit = None
    return (yield from part(attempt, ons, limit))


class Rules:
    """The rules of concurrent effects: when each begins, and when those that still run must end.

    An `all_of` has all answers, or the first failure. A hedge has the first answer; after a failure
    it begins no further request, but may wait for one that still runs (`awaits_other`).
    """

    def __init__(self, command: Together, make: Callable[..., Any] = branch) -> None:
        self._make = make  # makes a branch, given the command, an index and seconds
        self.begun: dict[int, float] = {}  # the times at which running effects began, by place
        self.over = not command.effects  # whether the effects that still run have to end
        self.starts = [0.0] * len(command.effects)  # the seconds after which each may begin
        self._answers: Any = [None] * len(command.effects)
        self._left = len(command.effects)
        self._failure: BaseException | None = None
        self._command, self._within, self._watching = command, time_limit(), WATCHING.get()
        self._hedge: Hedge | None = command.hedge
        self._first = self._after = 0.0
        if self._hedge is not None:
            slow = self._hedge.begin()
            self.starts = [0.0] if slow is None else [0.0, slow]

    def begin(self, place: int, now: float) -> Any:
        """Return the branch of an effect that begins now; `None` if it does not begin."""
        within = self._within
        if self._hedge is not None and place == 0:
            self._first = now
        elif self._hedge is not None:
            after = now - self._first
            late = within is not None and after >= within
            if self.over or 0 not in self.begun or late or not self._hedge.copy(now):
                return None
            within, self._after = within and within - after, after
        self.begun[place] = now
        return self._make(self._command, place, within)

    def end(self, place: int, answer: Any, failure: BaseException | None, now: float) -> bool:
        """Take the end of an effect; return whether those that still run have to end (`over`)."""
        began = self.begun.pop(place)
        if self.over:
            return True
        self._left -= 1
        if self._hedge is None:
            self._answers[place], self._failure = answer, failure
            self.over = failure is not None or not self._left
            return self.over
        won = failure is None and place == 1
        self._hedge.hear(failure, now, began, won)
        before, self._failure, self._answers = self._failure, failure, answer
        if failure is not None and awaits_other(failure):
            self._failure = before or failure
            if self.begun:
                return False
        self.over = True
        for began in self.begun.values():
            self._hedge.hear(None, now, began)
        if self._watching is not None and self._after:
            run, notifier = self._watching
            notifier.notify(Hedged(run, self._after, won))
        return True

    def result(self) -> tuple[Any, BaseException | None]:
        failure, self._failure = self._failure, None
        return (None if failure else self._answers), failure


def awaits_other(failure: BaseException) -> bool:
    """Return whether a hedge waits, after `failure`, for its other request if that still runs.

    After a `Retry-After` the hedge does not wait: the ladder and the gates have to hear of that.
    """
    return isinstance(failure, Exception) and is_transient(failure) and not asked_for(failure)


class Branch(Notifier):
    """A concurrent effect in a thread. It delivers its events until a hedge gives it up."""

    def __init__(self, stream: Stream) -> None:
        self.abort, self._failures = Abort(), list[BaseException]()
        self._open: list[tuple[Issued, float]] = []
        self._lock, self._muted = RLock(), False
        self.stream = abortable(stream, self._failures)
        watching = WATCHING.get()
        if watching is not None:
            super().__init__(watching[1].observer)
            self.stream = with_command_events(self.stream, watching[0], self)

    @override
    def notify(self, *events: Event) -> None:
        with self._lock:
            for event in () if self._muted else events:
                if isinstance(event, Issued):
                    self._open.append((event, monotonic()))
                elif isinstance(event, Answered):
                    self._open = [pair for pair in self._open if pair[0] is not event.issued]
                super().notify(event)

    def give_up(self, mute: bool) -> None:
        """Abort the effect; with `mute`, report its open commands as failed, and nothing later."""
        failure = Aborted()
        self._failures.append(failure)
        self.abort.request()
        if mute:  # the effect may outlive its run
            with self._lock:
                now = monotonic()
                self.notify(
                    *[Answered(issued, now - begun, failure) for issued, begun in self._open]
                )
                self._muted = True


class InThreads:
    """Effects that each have a thread of its own.

    Once `Rules.over` is true, or on Ctrl-C, running effects are aborted at their next command, or
    sooner if their handler has registered a callback (`ABORT`). `run` waits for the threads of
    an `all_of`, but not for the loser of a hedge, which holds a token of the hedge until it ends.
    """

    def __init__(self, command: Together, answer: Answer) -> None:
        self.rules, self.hedge, self.answer = Rules(command), command.hedge, answer
        self.ended: SimpleQueue[tuple[int, Any, BaseException | None]] = SimpleQueue()
        self.running: dict[int, Branch] = {}
        self.threads: list[tuple[Thread, Signal]] = []
        self.stopped = False

    @carries_mark
    def work(self, place: int, branch: Branch, over: Signal) -> None:
        ABORT.set(branch.abort)
        if place and self.hedge is not None:
            COPY.set(".2")
        mine = RUNNING.get()  # `mark_around` reads this local variable
        this_thread().mark = mine
        answer: Any = None
        failure: BaseException | None = None
        try:
            answer = self.answer(branch.stream)
        except BaseException as error:
            failure = error
        if self.running.pop(place, None) is None and self.hedge is not None:  # it was given up
            self.hedge.lose(-1)
            if isinstance(failure, Exception) and asked_for(failure):
                self.hedge.hear(failure, monotonic(), 0.0)
        self.ended.put((place, answer, failure))
        failure = None
        over.set()

    def start(self, place: int) -> None:
        stream = None if self.stopped else self.rules.begin(place, monotonic())
        if stream is not None:
            self.running[place], over = Branch(stream), Signal()
            given = (self.work, place, self.running[place], over)
            thread = Thread(target=copy_context().run, args=given, daemon=True)
            self.threads.append((thread, over))
            try:
                thread.start()
            except RuntimeError:  # there are too many threads
                del self.running[place], self.rules.begun[place]
                if not place or self.hedge is None:
                    raise
            if self.stopped:
                self.give_up()

    def give_up(self) -> None:
        self.stopped = True
        for place in [*self.running]:
            branch = self.running.pop(place, None)
            if branch is not None:
                if self.hedge is not None:
                    self.hedge.lose(1)
                branch.give_up(mute=self.hedge is not None)

    def run(self) -> Any:
        rules, failures, outer = self.rules, list[BaseException](), ABORT.get()
        later = [after for after in rules.starts if after]
        try:
            for place in range(len(rules.starts) - len(later)):
                self.start(place)
            if outer is not None:
                outer.on_request(self.give_up)
            while not rules.over:
                try:
                    rules.end(*self.ended.get(timeout=later.pop() if later else None), monotonic())
                except Empty:
                    self.start(1)
        except BaseException as error:  # such as Ctrl-C
            failures.append(error)
        try:
            self.give_up()
            answers, failure = rules.result()
            failures += filter(None, [failure])
            failure = None
            if self.hedge is None:
                wait_for(self.threads)
                failures += filter(None, [self.ended.get()[2] for _ in range(self.ended.qsize())])
            check_none(failures)
            return answers
        finally:
            failures.clear()


def wait_for(threads: list[tuple[Thread, Signal]]) -> None:
    """Wait until all started threads have ended.

    `join` alone is not enough: a `join` that Ctrl-C interrupts marks the thread as ended.
    """
    for thread, event in threads:
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


class AllOver(Exception):
    """Raised by a task to cancel the tasks that still run."""


async def in_tasks(command: Together, answer: AnswerAsync) -> Any:
    """Answer each effect in a task of its own; cancel and await those that have to end."""
    rules, with_events, mark = Rules(command), events_of_parts(), RUNNING.get()
    failures: list[BaseException] = []

    @carries_mark
    async def work(place: int, after: float, mine: Mark = mark) -> None:  # noqa: ARG001
        if after:  # only a copy begins later
            COPY.set(".2")
            await poll_async(after)
        stream = rules.begin(place, now())
        if stream is None:
            return
        value: Any = None
        failure: Exception | None = None
        try:
            value = await answer(with_events(stream))
        except Exception as error:
            failure = error
        try:
            if rules.end(place, value, failure, now()):
                raise AllOver
        finally:
            failure = None

    try:
        await all_tasks(work, rules.starts, failures)
        answers, failure = rules.result()
        found = [failure, *failures]
        failures[:] = [error for error in found if error and not isinstance(error, AllOver)]
        failure = None
        found.clear()
        check_none(failures)
        return answers
    finally:
        failures.clear()
