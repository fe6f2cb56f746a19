"""The worker of a process: it performs runs with DBOS, whose steps are the entries of journals."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from contextvars import Context
from dataclasses import dataclass
from datetime import timedelta
from logging import getLogger
from threading import Condition, Event, Lock
from typing import Any, TypeAlias

from dbos import DBOS, WorkflowSerializationFormat
from dbos import error as dbos_errors
from sqlalchemy.exc import SQLAlchemyError

from .._running.aborting_handlers import ABORT, Abort
from .._running.command_loops import AnyInterpreter
from .._words.commands import Misuse
from .codec import JSON, decode, encode, encode_failure, shown
from .dbos_internals import launch, stop_queues, stop_reconnecting
from .dbos_journal import Held, SegmentJournal
from .journal import Cancelled, Checkpoint, Parked, RunLost
from .outages import in_words, insist_in_thread
from .performing import is_mistake, run_durably
from .store import (
    APPLICATION,
    DBOS_NAME,
    SERIALIZER,
    VERSION,
    NewRun,
    RunFailed,
    Store,
    file_of,
    owner_of,
    queue_of,
    segment_id,
)
from .unperformed_runs import UnperformedRuns
from .worker_liveness import FileLock, ServerLock, WorkerLock
from .workflows import Workflow, fingerprint

AnyWorkflow: TypeAlias = Workflow[Any, Any, Any, Any]

LOGGER = getLogger("ixbackoff")
DBOS_LOGGER = getLogger("dbos")
POLL = 0.1  # seconds between two queries of a queue, or of a run whose result is awaited
REJOIN = 1.0  # seconds between two attempts to get a new lock
THREADS = 64  # handlers that run concurrently in threads
HEAD_START = 2.0  # seconds by which a segment is due early: DBOS looks for due ones once a second
STOPPING = 5.0  # seconds in which the threads that take runs from queues have to end
WORKERS: list[Worker] = []
"""The worker of this process, if it has one: DBOS allows only one."""


class RunLocks:
    """Locks of runs: the tasks of an event loop perform a run one after another.

    A run that is paused and immediately resumed is taken from its queue while its former task may
    still perform a command. The new task performs no command before the former task has ended.
    """

    def __init__(self) -> None:
        self._held: dict[str, asyncio.Event] = {}

    def held(self, run: str) -> bool:
        """Return whether a task holds the lock of a run; any thread may call this."""
        return run in self._held

    @asynccontextmanager
    async def of(self, run: str) -> AsyncGenerator[None]:
        """Hold the lock of a run in a block, once no other task holds it."""
        while (before := self._held.get(run)) is not None:
            await before.wait()
        over = self._held[run] = asyncio.Event()
        try:
            yield
        finally:
            del self._held[run]
            over.set()


def check_no_worker() -> None:
    """Raise Misuse if this process, or the process from which it was forked, has a worker."""
    if WORKERS and WORKERS[0].process != os.getpid():
        raise Misuse(
            "This process was forked from a process with an engine, so it cannot perform runs: "
            "start it with the start method spawn."
        )
    if WORKERS:
        raise Misuse(
            "Another engine works in this process: give it all workflows, or close it first."
        )


@dataclass(eq=False)
class Worker:
    """The worker of this process.

    Raises:
        Misuse: another process has the lock of the file.
    """

    interpreter: AnyInterpreter
    workflows: Mapping[str, AnyWorkflow]
    store: Store
    concurrency: int | None
    hold: float
    ended: Condition  # notified at the end of each run or segment
    keep: timedelta | None

    def __post_init__(self) -> None:
        self.process = os.getpid()
        self.closing = False  # whether the worker performs no more commands
        self.generation = 0  # the number of locks that were lost
        self.stuck: set[str] = set()  # the segments that the code of this process cannot continue
        self.over = Event()  # set once the current lock is lost, or the worker closes
        self.changing = Lock()  # held while the worker starts or stops DBOS
        self.threads = asyncio.Semaphore(THREADS)
        self.run_locks = RunLocks()
        self.dbos: DBOS | None = None
        self.unperformed: UnperformedRuns | None = None
        self.aborts: set[Abort] = set()
        self.returning: set[asyncio.Task[None]] = set()
        self.lock = self.new_lock()
        WORKERS.append(self)
        try:
            outside_of_event_loops(self.launch)
        except BaseException:
            self.close()
            raise

    def new_lock(self) -> WorkerLock:
        """Get a lock, which shows other workers that this process is alive."""
        if not self.store.sqlite:
            return ServerLock(self.store, self.workflows)
        path = file_of(self.store.database)
        lock = FileLock(path)
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("pragma journal_mode=wal")  # faster, and readers block no writer
        return lock

    def launch(self) -> None:
        """Start to perform runs; begin with those that an earlier worker with this id has left."""
        DBOS_LOGGER.handlers.clear()  # a logging handler keeps the stderr of the last launch
        self.dbos = DBOS(
            config={
                "name": APPLICATION,
                "system_database_engine": self.store.engine(),
                "application_version": VERSION,
                "executor_id": self.lock.id,
                "serializer": SERIALIZER(),
                "notification_listener_polling_interval_sec": POLL,
                "use_listen_notify": self.store.sqlite,  # a server would need one more connection
                "log_level": "CRITICAL",  # a lower level logs a traceback for each failed run
            }
        )

        held = Held(self.lock, self.generation, self.over)  # for the runs of this launch only

        async def body(
            workflow: str, given: dict[str, Any], run: str, segment: int, at: Any = None
        ) -> Any:
            start = NewRun(workflow, given, run, None if at is None else Checkpoint(*at))
            async with self.run_locks.of(run):
                return await self.performed(start, segment, held)

        DBOS.workflow(
            name=DBOS_NAME,
            max_recovery_attempts=None,  # a run may outlive any number of workers
            serialization_type=WorkflowSerializationFormat.PORTABLE,
        )(body)
        DBOS.listen_queues([queue_of(name) for name in self.workflows])
        for name in self.workflows:  # before the launch: DBOS looks for new queues once a second
            self.store.register(name, self.concurrency, POLL, self.workflows[name].rate)
        launch(self.dbos, self.lock.now)
        stop_reconnecting(self.dbos)
        self.lock.watch(self.begin_again, self.run_locks.held)
        self.unperformed = UnperformedRuns(
            self.store, self.lock, self.workflows, self.run_locks.held, self.stuck, self.keep
        )

    def begin_again(self) -> None:
        """Abandon all runs, because the lock was lost, and continue with a new lock.

        Another worker may have taken the runs over. Until that worker begins a run, this one can
        still record a command of the run; afterwards the database rejects the record.
        """
        LOGGER.warning("worker %s has lost its lock, and leaves its runs", self.lock.id)
        self.generation += 1
        self.over.set()
        with self.changing:
            self.stop()
            self.lock.close()
            if not self.closing:
                self.over = Event()
        while not self.joined_again():
            self.over.wait(REJOIN)

    def joined_again(self) -> bool:
        """Start again with a new lock; return false if the database cannot be reached."""
        with self.changing:
            if self.closing:
                return True
            try:
                self.lock = self.new_lock()
                self.threads = asyncio.Semaphore(THREADS)
                self.run_locks = RunLocks()
                self.launch()
            except Exception as error:
                LOGGER.warning("the database cannot be reached, trying again: %s", in_words(error))
                self.stop()
                self.lock.close()
                return False
            return True

    def stop(self) -> None:
        """Abort the handlers, and end DBOS.

        The threads that take runs from queues end first, because they would wait for ever for an
        event loop that has ended.
        """
        if self.unperformed is not None:
            self.unperformed.close()
        for abort in tuple(self.aborts):
            abort.request()
        if self.dbos is not None:
            stop_queues(self.dbos, STOPPING)
        DBOS.destroy(destroy_registry=True)
        self.dbos = None

    def close(self) -> None:
        self.closing = True
        self.over.set()
        with suppress(ValueError):
            WORKERS.remove(self)
        with self.changing:
            self.over.set()  # `begin_again` may have made another event
            outside_of_event_loops(self.stop)
            self.lock.close()

    async def performed(self, start: NewRun, segment: int, held: Held) -> JSON:
        """Perform one segment of a run; return the run's value, or the id of the next segment.

        Raises:
            RunFailed: the run ended with a failure, or is stuck.
        """
        self.watch_end(start, segment, held)
        building = True
        try:
            workflow = self.workflows[start.workflow]
            opened = self.store.opened
            args = [decode(value) for value in opened(start.given["args"])]
            kwargs = {name: decode(value) for name, value in opened(start.given["kwargs"]).items()}
            program, how = workflow.build(*args, **kwargs)
            if fingerprint(program, how) != start.given["plan"]:
                LOGGER.warning(
                    "%s was changed since run %s began: the run continues as long as it agrees "
                    "with its journal",
                    *(start.workflow, start.run),
                )
            journal = await SegmentJournal.loaded(self, start, segment, held)
            building = False
            value = await run_durably(program, how, self.interpreter, journal)
            return {"value": self.store.sealed(encode(value))}
        except Parked as parked:
            owner = owner_of(start.run, segment)
            await insist_in_thread(start.run, self.park, start, segment, parked, owner)
            return {"next": segment_id(start.run, segment + 1)}
        except RunLost:
            if held.over.is_set():
                raise asyncio.CancelledError from None
            conflict = dbos_errors.DBOSWorkflowConflictIDError(segment_id(start.run, segment))
            raise conflict from None
        except Cancelled:
            raise dbos_errors.DBOSWorkflowCancelledError(f"run {start.run} was cancelled") from None
        except Exception as failure:
            stuck = building or is_mistake(failure)
            if stuck:
                self.stuck.add(segment_id(start.run, segment))
                LOGGER.warning(
                    "run %s is stuck, until an engine has code that works: %s",
                    *(start.run, shown(failure)),
                )
            raise RunFailed(self.store.sealed(encode_failure(failure)), stuck) from None
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as stop:  # such as SystemExit, which would end the event loop
            raise RunFailed(self.store.sealed(encode_failure(stop))) from None
        finally:
            with self.ended:
                self.ended.notify_all()

    def park(self, start: NewRun, segment: int, parked: Parked, owner: str) -> None:
        """Enqueue the next segment for a time shortly before the end of the wait.

        With a concurrency limit, the segment is enqueued for the end itself: otherwise waiting runs
        could use up the limit.
        """
        left = parked.left()
        early = min(HEAD_START, left / 10) if self.concurrency is None else 0.0
        start = start._replace(checkpoint=parked.checkpoint)
        self.store.park(start, segment, self.lock.now() + left - early, owner)

    @contextmanager
    def abortable(self) -> Generator[None]:
        abort = Abort()
        self.aborts.add(abort)
        token = ABORT.set(abort)
        try:
            yield
        finally:
            ABORT.reset(token)
            self.aborts.discard(abort)

    def watch_end(self, start: NewRun, segment: int, held: Held) -> None:
        """Enqueue a segment again if the database fails to record its end."""
        owner = owner_of(start.run, segment)

        def ended(task: asyncio.Task[Any]) -> None:
            if held.over.is_set() or task.cancelled():
                return
            if not isinstance(task.exception(), SQLAlchemyError):
                return
            given = (segment_id(start.run, segment), held.lock.id, owner)
            returning = insist_in_thread(start.run, self.store.give_back, *given)
            self.returning.add(asyncio.create_task(returning))

        task = asyncio.current_task()
        if task is not None:
            task.add_done_callback(ended, context=Context())


def outside_of_event_loops(function: Callable[[], None]) -> None:
    """Call a function in a new thread, because DBOS would use a running event loop as its own."""
    with ThreadPoolExecutor(1) as threads:
        threads.submit(function).result()
