"""A durable run: its journal answers the recorded commands, and handlers answer all others."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator
from contextlib import suppress
from functools import partial
from random import Random
from threading import Lock
from types import CoroutineType
from typing import TYPE_CHECKING, Any, NamedTuple

from .._limits.budgets import REFUSED, Account
from .._limits.deadlines import time_limit
from .._limits.event_loop import cancelled_since
from .._limits.nesting import REJECTED, begin, carries_mark, check_not_rejected
from .._limits.observers import events_of_parts, watched
from .._meaning.chains import Ladder
from .._meaning.run_defaults import Defaults
from .._meaning.run_state import ProgramRun
from .._meaning.semantics import unrolled
from .._running.boot_clock import since_boot
from .._running.command_loops import AnyInterpreter
from .._running.concurrent_effects import check_none
from .._running.logs import log
from .._running.sleeping import LONGEST_SLEEP, awaitable, log_ended, logger_of
from .._running.tasks_and_timeouts import all_tasks, with_timeout
from .._words.commands import (
    Awaited,
    Handlers,
    Interpreter,
    Misuse,
    Stream,
    inherited,
    stop_error,
    unawaited,
)
from .._words.judging import (
    Recorded,
    Verdict,
    attach,
    chooses,
    judge,
    raised_name,
    recorded,
    seconds_asked,
)
from .._words.notes import add_note
from .._words.standard_commands import (
    CLOCK,
    PASSAGE,
    Delay,
    Now,
    Passage,
    Refused,
    Together,
    issued_in_line,
)
from .codec import JSON, decode, encode, encode_failure, shown
from .idempotency import CURRENT
from .journal import (
    Cancelled,
    Entry,
    Journal,
    Line,
    Make,
    MakeAsync,
    Parked,
    RunLost,
    RunReleased,
    after,
)

if TYPE_CHECKING:
    from logging import Logger

__tracebackhide__ = True


async def run_durably(
    program: Ladder, how: Defaults, interpreter: AnyInterpreter, journal: Journal
) -> Any:
    """Run a program from where its journal ends: return its value, or raise its last failure.

    Raises:
        RunReleased: this process no longer has the run.
        Cancelled: the run was cancelled, and has cleaned up.
    """
    again, checkpoint = journal.resumed, journal.checkpoint
    if checkpoint is not None:
        again = journal.known(after(checkpoint.place)) is not None
        if not again:
            await journal.wait(checkpoint.place, checkpoint.wait)
    run = ProgramRun(program, how.schedule, Random(journal.seed))  # noqa: S311
    run._id = journal.run
    account = None if how.budget is None else how.budget.open(time.monotonic())
    performer = Performer(journal, interpreter, account)
    line = Line(journal, again=again)
    line.checkpoint = checkpoint
    line.replays = how.within is not None or account is not None
    line.follow(run)
    run.retries_begin = line.begin_retries
    stream = unrolled(program, Defaults(within=how.within, through=how.through), run=run)
    observed = watched(performer.replayed(stream, line), run)
    try:
        answer = await alone(observed, line, performer, run)
    except RunReleased:
        raise
    except BaseException as failure:
        if account is not None:
            account.close(failure, time.monotonic())
        raise
    finally:
        run.retries_begin = None  # break the cycle of run and line
    if account is not None:
        account.close(None, time.monotonic())
    return answer


@carries_mark
async def alone(stream: Stream, line: Line, performer: Performer, run: ProgramRun) -> Any:
    """Perform the stream of a program; reject each nested program that may wait."""
    run.mark = mine = [None, 0]
    try:
        begin(mine, run, awaits=True)
        answer = await performer.finished(Reached.by(stream), stream, line)
        if REJECTED:
            check_not_rejected(mine)
        return answer  # noqa: TRY300
    except Exception as failure:
        if REJECTED:
            check_not_rejected(mine, failure)
        log_ended(run, failure, performer.handlers)
        raise
    finally:
        mine[0] = None


class Performer:
    """The performer of one run: replays the recorded commands, performs and records all others.

    Handlers run in threads if the interpreter is not an async one.
    """

    def __init__(
        self, journal: Journal, interpreter: AnyInterpreter, account: Account | None = None
    ) -> None:
        self.journal = journal
        self.handlers: Handlers = interpreter._handlers
        self.threads = isinstance(interpreter, Interpreter)
        self.account = account
        self.gated = True  # false in an exploration, where no gate is asked
        self.logger: Logger | None = logger_of(self.handlers.get(Delay))
        self.over: BaseException | None = None  # what ended the run in this process
        self.cancelled = False  # whether only the `finally` blocks of the run remain

    def replayed(self, stream: Stream, line: Line) -> Stream:
        """Answer the recorded commands of a stream from the journal, and pass on all others.

        Raises:
            Diverged: the stream issues another command than the recorded one.
            RunReleased: this process no longer has the run.
        """
        answer: Any = None
        failure: BaseException | None = None
        command: Any = None
        try:
            while True:
                command = stream.send(answer) if failure is None else stream.throw(failure)
                answer = failure = None
                if command is CLOCK:
                    answer = line.clock()
                    continue
                entry = self.journal.known(line.place)
                if command.__class__ is Passage:
                    line.gates += command is PASSAGE
                    if entry is None:
                        answer = self.journal.now() if self.gated else None
                    elif entry.get("g") == line.gates:
                        answer, failure = self.read(entry, line)
                        line.next()
                    continue
                if command.__class__ is Delay and self.refuses(command, entry, line):
                    failure = not_affordable(command)
                    continue
                line.identify(command)
                aborted, in_line = line.aborted, issued_in_line(command)
                try:
                    self.over = self.over or line.diverged(entry)
                    if self.over is not None:
                        raise self.over
                    if entry is None:
                        answer = yield command
                    else:
                        if command.__class__ is not Delay:
                            answer, failure = self.read(entry, line)
                        elif self.journal.known(after(line.place)) is None:
                            yield command  # the wait is not over
                except BaseException as error:
                    if error is self.over or isinstance(error, RunReleased):
                        self.over = self.over or error
                        stream.close()  # the commands of its `finally` blocks are not performed
                        raise
                    failure = error
                if not in_line or line.aborted is not aborted:  # in line, only an abort is recorded
                    line.next()
        except StopIteration as end:
            return end.value
        finally:  # break the cycle of exception, traceback and this frame
            failure = command = None

    def read(self, entry: Entry, line: Line) -> tuple[Any, BaseException | None]:
        """Return the answer or the failure in an entry; end the run if it cannot be decoded."""
        try:
            return read(entry, line)
        except Exception as error:
            self.over = error
            raise

    def refuses(self, wait: Any, entry: Entry | None, line: Line) -> bool:
        """Return whether the budget refuses to pay for a wait.

        Each process has its own budget, which also pays for replayed waits, but a decision in the
        journal takes precedence over the budget. A refusal has no entry: the next command's
        entry records it, once that command has been performed.
        """
        if self.account is None or wait.failure is None:
            return False
        paid = self.account.afford(wait.failure, time.monotonic())
        if entry is not None:
            paid = line.refused >= entry.get("r", 0)
        line.refused += not paid
        return not paid

    async def finished(self, reached: Reached, stream: Stream, line: Line) -> Any:
        """Perform the commands of a stream from `reached` on; return the value of the stream."""
        while reached.command is not None:
            if self.blocks(reached.command) and not line.path:
                reached = await self.in_a_row(reached.command, stream, line)
                continue
            try:
                value = await self.performed(reached.command, line)
            except BaseException as error:
                reached = Reached.by(stream, failure=error)
            else:
                reached = Reached.by(stream, value)
        if reached.failure is not None:
            if line.path and self.over is None and is_mistake(reached.failure):
                self.over = reached.failure  # a branch that aborts later records nothing
            raise reached.failure
        return reached.value

    def blocks(self, command: Any) -> bool:
        """Return whether to use a thread: for `Now`, `Refused`, or a handler that may block."""
        kind: type = command.__class__
        if kind is Delay or (kind is Together and Together not in self.handlers):
            return False
        return kind in (Now, Refused) or (self.threads and not issued_in_line(command))

    async def in_a_row(self, command: Any, stream: Stream, line: Line) -> Reached:
        """Perform a command and its successors in one thread, until one has to be awaited.

        Handing each command to a thread would add a third to the time that recording takes. Only
        the thread runs the stream, until the run abandons the thread.
        """
        lock, abandoned = Lock(), False

        def perform(command: Any) -> Reached:
            while True:
                value, failure = None, None
                try:
                    value = self.performed_here(command, line)
                except BaseException as error:
                    failure = error
                with lock:
                    if abandoned:
                        raise RunLost
                    reached = Reached.by(stream, value, failure)
                command = reached.command
                if command is None or self.journal.crowded or not self.blocks(command):
                    return reached

        try:
            return await self.journal.in_thread(partial(perform, command))
        except asyncio.CancelledError:
            with lock:
                abandoned = True  # the thread ends after its current command
            return Reached.by(stream, failure=RunLost())

    def performed_here(self, command: Any, line: Line) -> Any:
        """Perform and record a command in this thread; return the recorded answer."""
        if self.over is not None or self.journal.closing:
            raise RunLost
        try:
            make = self.outcome(command, line, line.first_again())
            return opened(self.keep_here(line, make), line)
        except Cancelled:
            self.cancelled = True
            raise

    async def performed(self, command: Any, line: Line) -> Any:
        if self.over is not None or self.journal.closing:
            raise RunLost
        try:
            if not line.aborting:
                return await self.recorded(command, line)
        except asyncio.CancelledError:
            pass
        except Cancelled:
            self.cancelled = True
            raise
        return await self.abort(line)

    async def abort(self, line: Line) -> Any:
        """Abort a line because a concurrent effect has failed, and record its abortion."""
        if self.over is not None or self.journal.closing or not line.path:
            raise RunLost
        line.aborting, line.aborted = False, True
        await self.keep_in_thread(line, lambda: line.entry(x=True))
        raise asyncio.CancelledError

    async def recorded(self, command: Any, line: Line) -> Any:
        if issued_in_line(command):
            return await self.stood(command, line)
        again = line.first_again()
        if command.__class__ is Delay:
            return await self.waited(command, line)
        if command.__class__ is Together and Together not in self.handlers:
            return await self.together(command, line, again)
        if self.blocks(command):
            entry = await self.keep_in_thread(line, self.outcome(command, line, again))
        else:
            entry = await self.keep_async(line, self.outcome_async(command, line, again))
        return opened(entry, line)

    async def stood(self, command: Any, line: Line) -> Any:
        """Perform a command of a try that stands in line at a gate; do not record it."""
        if command.__class__ is Delay:
            return await awaitable()(min(command.seconds, LONGEST_SLEEP))
        if self.threads:
            entry = await self.journal.in_thread(self.outcome(command, line, False))
        else:
            entry = await self.outcome_async(command, line, False)()
        return opened(entry, line)

    async def keep_async(self, line: Line, make: MakeAsync) -> Entry:
        if self.cancelled:
            return await make()
        return await self.journal.keep_async(line.place, line.digest.kind, make)

    def keep_here(self, line: Line, make: Make) -> Entry:
        if self.cancelled:
            return make()
        return self.journal.keep(line.place, line.digest.kind, make)

    async def keep_in_thread(self, line: Line, make: Make) -> Entry:
        """Make an entry in a thread, and record it unless the run is cancelled.

        In a branch of `all_of` the thread runs to its end, even if a concurrent effect fails.
        """
        keeping = self.journal.in_thread(partial(self.keep_here, line, make))
        if not line.path:
            return await keeping
        task = asyncio.ensure_future(keeping)
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError:
                if self.journal.closing:
                    raise
                line.aborting = not line.aborted
        return task.result()

    async def waited(self, wait: Delay, line: Line) -> None:
        """Wait until a wait is over; record its beginning first, unless the journal has it."""
        if self.cancelled:
            raise Cancelled
        entry = self.journal.known(line.place)
        if entry is None:
            entry = await self.keep_in_thread(line, partial(self.due, wait, line))
            if self.logger is not None:
                log(wait, self.logger)
        if self.account is not None:
            self.account.counted = wait.failure is not None
        try:
            await self.journal.wait(line.place, entry)
        except Parked as parked:
            parked.checkpoint = line.parked_at(entry)
            raise
        if self.account is not None:
            self.account.counted = False

    def due(self, wait: Delay, line: Line) -> Entry:
        """Make the entry of a wait that begins.

        The entry contains whether the wait is parked, so that all processes agree. If each process
        decided by the remaining seconds, it could park a run that another process still holds.
        """
        boot, seconds = since_boot(), wait.seconds
        return line.entry(
            seconds=seconds,
            due=self.journal.now() + seconds,
            parks=self.journal.parks(seconds),
            boot=boot.id,
            boot_due=boot.seconds + seconds,
        )

    def handler(self, command: Any) -> Any:
        kind: type = command.__class__
        return self.handlers.get(kind) or inherited(self.handlers, kind)

    def outcome(self, command: Any, line: Line, again: bool) -> Make:
        """Return a function that calls the handler of a command, and makes the entry."""
        if command.__class__ is Now:
            return lambda: line.entry(a=self.journal.now())
        if command.__class__ is Refused:
            return lambda: failed(line, command.refusal)
        current = line.current(again)
        handler = self.handler(command)

        def make() -> Entry:
            token = CURRENT.set(current)
            try:
                answer = handler(command)
                if answer.__class__ is CoroutineType:
                    raise unawaited(answer, command)
                return line.entry(a=encode(answer))
            except Exception as error:
                if self.journal.closing:  # the handler may have been aborted
                    raise RunLost from None
                return failed(line, error)
            except BaseException as stop:
                return failed(line, not_stopped(command, stop))
            finally:
                CURRENT.reset(token)

        return make

    def outcome_async(self, command: Any, line: Line, again: bool) -> MakeAsync:
        """Return a function as `outcome` does, for a handler that may be awaited."""
        current = line.current(again)
        handler = self.handler(command)

        async def make() -> Entry:
            if handler.__class__ is not Awaited:
                return self.outcome(command, line, again)()
            token = CURRENT.set(current)
            cancelled = cancelled_since()
            try:
                limit, answer = time_limit(), handler.handler(command)
                answer = await (answer if limit is None else with_timeout(limit, answer))
                return line.entry(a=encode(answer))
            except Exception as error:
                if cancelled():  # the handler raised `error` in place of the cancellation
                    raise asyncio.CancelledError from error
                return failed(line, error)
            except (asyncio.CancelledError, GeneratorExit):
                raise
            except BaseException as stop:
                return failed(line, not_stopped(command, stop))
            finally:
                CURRENT.reset(token)

        return make

    async def together(self, command: Together, line: Line, again: bool) -> Any:
        """Perform effects concurrently, each with its entries; leave out the copy of a hedge."""
        observed, many = events_of_parts(), None if command.hedge is None else 1
        effects: list[tuple[Stream, Line]] = []
        for stream, branch in line.fork(command, again, many):
            effects.append((observed(self.replayed(stream, branch)), branch))
        try:
            answers = await self.all_answered(effects)
            entry = line.entry(a=answers if many is None else answers[0])
        except Exception as error:
            if error is self.over:
                raise
            entry = failed(line, error)
        return opened(await self.keep_in_thread(line, lambda: entry), line)

    async def all_answered(self, effects: list[tuple[Stream, Line]]) -> list[JSON]:
        """Answer streams concurrently; return their values as JSON.

        All streams are replayed before any command is performed, because a stream whose failure is
        in the journal aborts the others.
        """
        begun = [Reached.by(stream) for stream, _ in effects]
        answers: list[JSON] = [None] * len(effects)
        failures: list[BaseException] = []

        async def work(number: int, effect: tuple[Stream, Line]) -> None:
            stream, line = effect
            reached, begun[number] = begun[number], Reached(None, None, None)
            try:
                if reached.failure is not None:
                    await Turn()  # so that no other task is cancelled before it has begun
                answers[number] = encode(await self.finished(reached, stream, line))
            except asyncio.CancelledError:
                if not line.aborted:
                    raise

        try:
            try:
                await all_tasks(work, effects, failures)
            except RunLost:  # a branch raises it once another branch has set `over`
                if self.over is None:
                    raise
            if self.over is not None:
                raise self.over
            check_none(failures)
        finally:
            failures.clear()
        return answers


class Reached(NamedTuple):
    """The point that a stream has reached: a command, or the value or failure at its end."""

    command: Any
    value: Any
    failure: BaseException | None

    @classmethod
    def by(
        cls, stream: Stream, answer: Any = None, failure: BaseException | None = None
    ) -> Reached:
        """Send an answer to a stream, or throw a failure into it; run it to the next command."""
        try:
            command = stream.send(answer) if failure is None else stream.throw(failure)
            return cls(command, None, None)
        except StopIteration as end:
            return cls(None, end.value, None)
        except BaseException as error:
            return cls(None, None, error)


class Turn:
    """An awaitable that lets all other tasks that are ready run first."""

    def __await__(self) -> Generator[None]:
        yield


def opened(entry: Entry, line: Line) -> Any:
    """Return the answer in an entry, or raise the failure.

    The program gets the recorded answer in place of the object that the handler returned. So if
    recording changes an answer, this shows immediately, not only after a crash.
    """
    answer, failure = read(entry, line)
    if failure is not None:
        raise failure
    return answer


def read(entry: Entry, line: Line) -> tuple[Any, BaseException | None]:
    if "a" in entry:
        return decode(entry["a"]), None
    if "x" in entry:
        line.aborted = True
        return None, asyncio.CancelledError()
    failure: Exception = decode(entry["f"])
    if entry["v"] is not None:
        *verdict, name = decode(entry["v"])
        attach(failure, Recorded(Verdict(*verdict), name, line.ons[::-1], entry["on"]))
    return None, failure


def is_mistake(failure: BaseException) -> bool:
    """Return whether a failure is a mistake in the code of a program, not the failure of a command.

    A mistake is a `Misuse`, or an exception of a built-in class that is no `OSError`, no group and
    not raised `from` another exception. Any other exception ends the run as failed.
    """
    built_in = failure.__class__.__module__ == "builtins" and failure.__cause__ is None
    expected = isinstance(failure, OSError | BaseExceptionGroup)
    mistaken = isinstance(failure, Misuse) or (built_in and not expected)
    return isinstance(failure, Exception) and mistaken and recorded(failure) is None


def failed(line: Line, failure: Exception) -> Entry:
    if isinstance(failure, StopIteration | StopAsyncIteration):
        failure = stop_error(failure)
    return line.entry(**judged(line, failure), f=encode_failure(failure))


def judged(line: Line, failure: Exception) -> Entry:
    """Judge a failure before it is encoded, because its decoded copy may be of a base class."""
    verdict: JSON = None
    answers: list[bool | float | None] = [None] * len(line.ons)
    with suppress(Exception):
        given = judge(failure)
        parts = bool(given.transient), seconds_asked(given), given.why, raised_name(failure)
        verdict = [encode(part) for part in parts]
    for number, on in enumerate(reversed(line.ons)):
        with suppress(Exception):
            answer = chooses(on, failure)
            answers[number] = float(answer) if isinstance(answer, float) else bool(answer)
    return {"v": verdict, "on": answers}


def not_stopped(command: Any, stop: BaseException) -> Exception:
    """Return the failure of a command whose handler raised an exception such as `SystemExit`.

    The exception itself would end the event loop of all runs.
    """
    return RuntimeError(
        f"The handler of {shown(command)} raised {shown(stop)}, which does not end an engine: let "
        "the handler return, or raise an Exception."
    )


def not_affordable(wait: Any) -> Exception:
    """Return the failure after which the budget refused a wait; add a note to it."""
    failure: Exception = wait.failure
    add_note(failure, REFUSED)
    wait.refuse("budget empty")
    return failure
