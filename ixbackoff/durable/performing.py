"""A durable run: a stream of commands, answered from its journal as far as that goes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator
from functools import partial
from random import Random
from threading import Lock
from types import CoroutineType
from typing import TYPE_CHECKING, Any, NamedTuple

from .._limits.budgets import REFUSED, Account
from .._limits.deadlines import time_limit
from .._limits.nesting import REFUSED as NESTED
from .._limits.nesting import begin, carries_mark, check_not_refused
from .._limits.observers import events_of_parts, watched
from .._meaning.chains import Ladder
from .._meaning.defaults import Defaults
from .._meaning.runs import ProgramRun
from .._meaning.semantics import unrolled
from .._running.eventloops import all_tasks, with_timeout
from .._running.logs import log
from .._running.loops import AnyInterpreter
from .._running.sleeping import log_ended, logger_of
from .._running.together import branches, check_none
from .._words.commands import (
    Awaited,
    Handlers,
    Interpreter,
    Stream,
    inherited,
    stopped,
    unawaited,
)
from .._words.reasons import add_note
from .._words.vocabulary import CLOCK, Delay, Now, Together
from .clocks import since_boot
from .codec import JSON, decode, encode, encode_failure, shown
from .digests import told
from .journal import (
    CURRENT,
    Cancelled,
    CurrentCommand,
    Entry,
    Journal,
    Left,
    Line,
    Lost,
    Make,
    MakeAsync,
    after,
)

if TYPE_CHECKING:
    from logging import Logger

__tracebackhide__ = True


async def run_durably(
    program: Ladder, how: Defaults, interpreter: AnyInterpreter, journal: Journal, seed: int
) -> Any:
    """Run a program from where its journal ends: return its value, or raise its last failure.

    Raises:
        Left: this process no longer has the run.
        Cancelled: the run was cancelled, and has cleaned up.
    """
    one = ProgramRun(program, how.schedule, Random(seed))  # noqa: S311
    one._id = journal.run
    account = None if how.budget is None else how.budget.open(time.monotonic())
    performer = Performer(journal, interpreter, account)
    line = Line(journal, again=journal.resumed)
    stream = unrolled(program, Defaults(within=how.within), run=one)
    told = watched(performer.replayed(stream, line), one)
    try:
        answer = await alone(told, line, performer, one)
    except Left:
        raise
    except BaseException as failure:
        if account is not None:
            account.close(failure, time.monotonic())
        raise
    if account is not None:
        account.close(None, time.monotonic())
    return answer


@carries_mark
async def alone(stream: Stream, line: Line, performer: Performer, one: ProgramRun) -> Any:
    """Perform the stream of a program; no other one that may wait can run inside it."""
    one.mark = mine = [None, 0]
    try:
        begin(mine, one, awaits=True)
        answer = await performer.finished(Reached.by(stream), stream, line)
        if NESTED:
            check_not_refused(mine)
        return answer  # noqa: TRY300
    except Exception as failure:
        if NESTED:
            check_not_refused(mine, failure)
        log_ended(one, failure, performer.handlers)
        raise
    finally:
        mine[0] = None


class Performer:
    """Performs one run: replays what its journal knows, and performs and keeps all else.

    Args:
        journal: its journal.
        interpreter: it answers its commands; in threads if it is not an async one.
        account: its account with the budget, if it has one.

    Attributes:
        over: why this process performs nothing more of it, if it does not.
        cancelled: true if the run was cancelled, so that it only cleans up.
    """

    def __init__(
        self, journal: Journal, interpreter: AnyInterpreter, account: Account | None = None
    ) -> None:
        self.journal = journal
        self.handlers: Handlers = interpreter._handlers
        self.threads = isinstance(interpreter, Interpreter)
        self.account = account
        self.logger: Logger | None = logger_of(self.handlers.get(Delay))
        self.over: BaseException | None = None
        self.cancelled = False

    def replayed(self, stream: Stream, line: Line) -> Stream:
        """Answer a stream from the journal as far as that goes, and pass on all else.

        Raises:
            Diverged: it issues another command than it did.
            Left: this process no longer has the run.
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
                if command.__class__ is Delay and self.refuses(command, entry, line):
                    failure = not_affordable(command)
                    continue
                line.told = told(command)
                try:
                    if entry is None:
                        answer = yield command
                    else:
                        self.over = self.over or line.diverged(entry)
                        if self.over is not None:
                            raise self.over
                        if command.__class__ is not Delay:
                            answer, failure = self.read(entry, line)
                        elif self.journal.known(after(line.place)) is None:
                            yield command  # the wait is not over
                except BaseException as error:
                    if error is self.over or isinstance(error, Left):
                        self.over = error
                        stream.close()  # nobody answers any more
                        raise
                    failure = error
                line.next()
        except StopIteration as end:
            return end.value
        finally:  # an exception must not be kept alive by a frame in its own traceback
            failure = command = None

    def read(self, entry: Entry, line: Line) -> tuple[Any, BaseException | None]:
        """Return the answer in an entry, or the failure.

        Raises:
            Unrecordable: a class in it is not there any more; so the run ends here.
        """
        try:
            return read(entry, line)
        except Exception as error:
            self.over = error
            raise

    def refuses(self, wait: Any, entry: Entry | None, line: Line) -> bool:
        """Return whether the budget cannot pay for a wait, or could not when it was replayed.

        It pays for a wait again that is replayed, since no process remembers what another paid. A
        refusal is kept with the next entry: until then nothing has come of it.
        """
        try:
            if self.account is None or wait.failure is None:
                return False
            paid = self.account.afford(wait.failure, time.monotonic())
            if entry is not None:
                paid = line.refused >= entry.get("r", 0)
            line.refused += not paid
            return not paid
        finally:
            del wait

    async def finished(self, reached: Reached, stream: Stream, line: Line) -> Any:
        """Perform what a stream passes on, from where it is; return its value."""
        failure: BaseException | None = None
        try:
            while reached.command is not None:
                if self.blocks(reached.command) and not line.path:
                    reached = await self.in_a_row(reached.command, stream, line)
                    continue
                value = failure = None
                try:
                    value = await self.performed(reached.command, line)
                except BaseException as error:
                    failure = error
                reached = Reached.by(stream, value, failure)
            if reached.failure is not None:
                raise reached.failure
            return reached.value
        finally:
            del reached, failure

    def blocks(self, command: Any) -> bool:
        """Return whether a handler answers a command that may block its thread."""
        kind: type = command.__class__
        if kind is Delay or (kind is Together and Together not in self.handlers):
            return False
        return kind is Now or self.threads

    async def in_a_row(self, command: Any, stream: Stream, line: Line) -> Reached:
        """Perform this command and those after it in one thread, as far as none is awaited."""
        batch = Batch(self, stream, line)
        try:
            return await self.journal.in_thread(partial(batch.perform, command))
        except asyncio.CancelledError:
            batch.leave()
            return Reached.by(stream, None, Lost())
        finally:
            del command

    def performed_here(self, command: Any, line: Line) -> Any:
        """As `performed`, in this thread."""
        if self.over is not None or self.journal.closing:
            raise Lost
        try:
            make = self.outcome(command, line, line.first_again())
            return opened(self.keep_here(line, make), line)
        except Cancelled:
            self.cancelled = True
            raise
        finally:
            del command

    async def performed(self, command: Any, line: Line) -> Any:
        """Perform a command that the journal does not know; return its answer as it was kept."""
        if self.over is not None or self.journal.closing:
            raise Lost
        try:
            if not line.aborting:
                return await self.recorded(command, line)
        except asyncio.CancelledError:
            pass
        except Cancelled:
            self.cancelled = True
            raise
        finally:
            del command
        return await self.abort(line)

    async def abort(self, line: Line) -> Any:
        """Tell a line that an effect beside it has failed, and keep that it was told."""
        if self.over is not None or self.journal.closing or not line.path:
            raise Lost
        line.aborting, line.aborted = False, True
        await self.keep_in_thread(line, lambda: line.entry(x=True))
        raise asyncio.CancelledError

    async def recorded(self, command: Any, line: Line) -> Any:
        """Perform a command, keep its entry, and return the answer in it."""
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

    async def keep_async(self, line: Line, make: MakeAsync) -> Entry:
        """Make an entry on the event loop, and keep it unless the run is cancelled."""
        if self.cancelled:
            return await make()
        return await self.journal.keep_async(line.place, line.told.kind, make)

    def keep_here(self, line: Line, make: Make) -> Entry:
        """Make an entry in this thread, and keep it unless the run is cancelled."""
        if self.cancelled:
            return make()
        return self.journal.keep(line.place, line.told.kind, make)

    async def keep_in_thread(self, line: Line, make: Make) -> Entry:
        """Make an entry in a thread, and keep it unless the run is cancelled.

        In a branch it goes on to its end, whatever fails beside it.
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
        """Begin a wait unless it was begun before, and wait until it is over."""
        if self.cancelled:
            raise Cancelled
        try:
            entry = self.journal.known(line.place)
            if entry is None:
                entry = await self.keep_in_thread(line, partial(self.due, wait, line))
                if self.logger is not None:
                    log(wait, self.logger)
            if self.account is not None:
                self.account.counted = wait.failure is not None
            await self.journal.wait(line.place, entry)
            if self.account is not None:
                self.account.counted = False
        finally:
            del wait

    def due(self, wait: Delay, line: Line) -> Entry:
        """Make the entry of a wait that begins now; whether it is parked is decided here, once."""
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
        """Return the function that asks the handler of a command, and makes the entry of it."""
        if command.__class__ is Now:
            return lambda: line.entry(a=self.journal.now())
        asked = CurrentCommand(f"{self.journal.run}:{line.place}", again)
        handler = self.handler(command)

        def make() -> Entry:
            token = CURRENT.set(asked)
            try:
                answer = handler(command)
                if answer.__class__ is CoroutineType:
                    raise unawaited(answer, command)
                return line.entry(a=encode(answer))
            except Exception as error:
                if self.journal.closing:  # so it may have been aborted
                    raise Lost from None
                return failed(line, error)
            except BaseException as stop:
                return failed(line, not_stopped(command, stop))
            finally:
                CURRENT.reset(token)

        return make

    def outcome_async(self, command: Any, line: Line, again: bool) -> MakeAsync:
        """As `outcome`, for a handler that may be awaited."""
        asked = CurrentCommand(f"{self.journal.run}:{line.place}", again)
        handler = self.handler(command)

        async def make() -> Entry:
            if handler.__class__ is not Awaited:
                return self.outcome(command, line, again)()
            token = CURRENT.set(asked)
            try:
                limit, answer = time_limit(), handler.handler(command)
                answer = await (answer if limit is None else with_timeout(limit, answer))
                return line.entry(a=encode(answer))
            except Exception as error:
                return failed(line, error)
            except (asyncio.CancelledError, GeneratorExit):
                raise
            except BaseException as stop:
                return failed(line, not_stopped(command, stop))
            finally:
                CURRENT.reset(token)

        return make

    async def together(self, command: Together, line: Line, again: bool) -> Any:
        """Perform effects at the same time, each with entries of its own."""
        beside = events_of_parts()
        effects: list[tuple[Stream, Line]] = []
        for number, stream in enumerate(branches(command)):
            branch = Line(self.journal, f"{line.place}/{number}.", again)
            effects.append((beside(self.replayed(stream, branch)), branch))
        try:
            entry = line.entry(a=await self.all_answered(effects))
        except Exception as error:
            if error is self.over:
                raise
            entry = failed(line, error)
        return opened(await self.keep_in_thread(line, lambda: entry), line)

    async def all_answered(self, effects: list[tuple[Stream, Line]]) -> list[JSON]:
        """Answer streams at the same time; return their values as JSON.

        All are replayed before any is performed: if one had failed, the others have to be told.
        """
        begun = [Reached.by(stream) for stream, _ in effects]
        answers: list[JSON] = [None] * len(effects)
        failures: list[BaseException] = []

        async def work(number: int, effect: tuple[Stream, Line]) -> None:
            stream, line = effect
            reached, begun[number] = begun[number], Reached(None, None, None)
            try:
                if reached.failure is not None:
                    await Turn()  # or the others would be cancelled before they have begun
                answers[number] = encode(await self.finished(reached, stream, line))
            except asyncio.CancelledError:
                if not line.aborted:
                    raise

        try:
            await all_tasks(work, effects, failures)
            if self.over is not None:
                raise self.over
            check_none(failures)
        finally:
            failures.clear()
        return answers


class Reached(NamedTuple):
    """How far a stream came: to a command, to its value, or to its failure."""

    command: Any
    value: Any
    failure: BaseException | None

    @classmethod
    def by(
        cls, stream: Stream, answer: Any = None, failure: BaseException | None = None
    ) -> Reached:
        """Answer a stream, or throw a failure into it; run it to the next command."""
        try:
            command = stream.send(answer) if failure is None else stream.throw(failure)
            return cls(command, None, None)
        except StopIteration as end:
            return cls(None, end.value, None)
        except BaseException as error:
            return cls(None, None, error)
        finally:
            del failure


class Batch:
    """Commands of one line that a thread performs, one after another.

    To give each of them to a thread would cost a third of a step of the database.

    Args:
        performer: it performs the run.
        stream: what issues them; the thread alone runs it, until it was left.
        line: the line.
    """

    def __init__(self, performer: Performer, stream: Stream, line: Line) -> None:
        self.performer = performer
        self.stream = stream
        self.line = line
        self.lock = Lock()
        self.left = False

    def perform(self, command: Any) -> Reached:
        """Perform commands, until the next one has to be awaited, or others wait for a thread."""
        performer = self.performer
        reached = Reached(command, None, None)
        failure: BaseException | None = None
        try:
            while True:
                value = failure = None
                try:
                    value = performer.performed_here(reached.command, self.line)
                except BaseException as error:
                    failure = error
                with self.lock:
                    if self.left:
                        raise Lost
                    reached = Reached.by(self.stream, value, failure)
                if (
                    reached.command is None
                    or performer.journal.crowded
                    or not performer.blocks(reached.command)
                ):
                    return reached
        finally:
            del command, failure, reached

    def leave(self) -> None:
        """Have the thread end after its command: it does not run the stream any more."""
        with self.lock:
            self.left = True


class Turn:
    """Awaited, it lets all other tasks that are ready take their turn."""

    def __await__(self) -> Generator[None]:
        yield


def opened(entry: Entry, line: Line) -> Any:
    """Return the answer in an entry, or raise the failure.

    It is what was kept and not what the handler gave, so that what would break after a crash breaks
    at once.
    """
    answer, failure = read(entry, line)
    if failure is None:
        return answer
    try:
        raise failure
    finally:
        del failure


def read(entry: Entry, line: Line) -> tuple[Any, BaseException | None]:
    """Return the answer in an entry, or the failure."""
    if "a" in entry:
        return decode(entry["a"]), None
    if "x" in entry:
        line.aborted = True
        return None, asyncio.CancelledError()
    return None, decode(entry["f"])


def failed(line: Line, failure: Exception) -> Entry:
    """Make the entry of a command that has failed."""
    if isinstance(failure, StopIteration | StopAsyncIteration):
        failure = stopped(failure)
    try:
        return line.entry(f=encode_failure(failure))
    finally:
        del failure


def not_stopped(command: Any, stop: BaseException) -> Exception:
    """Return the failure of a command whose handler raised what ends a process, as `sys.exit` does.

    It would end the event loop on which all runs are.
    """
    return RuntimeError(
        f"The handler of {shown(command)} raised {shown(stop)}, which does not end an engine: let "
        "it return, or raise an Exception."
    )


def not_affordable(wait: Any) -> Exception:
    """Return the failure before a wait that the budget refuses, with a note."""
    failure: Exception = wait.failure
    try:
        add_note(failure, REFUSED)
        wait.refuse("budget empty")
        return failure
    finally:
        del failure, wait
