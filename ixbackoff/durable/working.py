"""Working: performing runs with DBOS, whose steps are the entries of their journals."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager, suppress
from contextvars import Context
from logging import getLogger
from threading import Condition, Event, Lock, Thread
from typing import Any, TypeAlias, TypeVar

from dbos import DBOS, WorkflowSerializationFormat
from dbos._error import DBOSWorkflowCancelledError, DBOSWorkflowConflictIDError
from sqlalchemy.exc import SQLAlchemyError

from .._meaning.replay import Diverged
from .._running.aborting import ABORT, Abort
from .._running.loops import AnyInterpreter
from .._words.commands import Misuse
from .codec import JSON, Unrecordable, decode, encode, encode_failure
from .journal import Cancelled, Lost, Parked
from .milliseconds import taught
from .performing import run_durably
from .recipes import Workflow, fingerprint
from .store import (
    APPLICATION,
    IDLE,
    SERIALIZER,
    VERSION,
    WORKFLOW,
    RunFailed,
    Start,
    Store,
    file_of,
    owner_of,
    queue_of,
    stretch_of,
)
from .strays import Strays
from .stretches import Held, Stretch
from .troubles import TROUBLE, in_words, insisted
from .turns import Turns
from .workers import OnFile, OnServer, Worker

A = TypeVar("A")
AnyRecipe: TypeAlias = Workflow[Any, Any, Any]

LOGGER = getLogger("ixbackoff")
ENGINE_LOGGER = getLogger("dbos")
POLL = 0.1  # seconds between two looks at a queue, or at a run whose result somebody waits for
THREADS = 64  # handlers at the same time
CONNECTIONS = 20
CONNECTIONS_TO_FILE = 3  # SQLite makes those who collide sleep, so most wait for one of these
HEAD_START = 2.0  # seconds: DBOS looks once a second for runs that are due, and hands them out
STOPPING = 5.0  # seconds in which what takes runs from queues has to end
WORKING: list[Working] = []
"""What works in this process; DBOS allows for one."""


def check_nobody_works() -> None:
    """Check that runs can be performed in this process.

    Raises:
        Misuse: another engine performs some in it, or did in the one that it was forked from.
    """
    if WORKING and WORKING[0].process != os.getpid():
        raise Misuse(
            "This process was forked from one in which an engine works, so none can work here: "
            "begin it with the start method spawn."
        )
    if WORKING:
        raise Misuse(
            "Another engine works in this process: give it all recipes, or close it first."
        )


class Working:
    """The performance of runs in this process.

    Args:
        interpreter: it answers the commands of all recipes.
        recipes: the recipes by their names.
        store: where runs are kept.
        concurrency: how many runs of a recipe are performed at the same time.
        hold: the longest wait in which a run is held, in seconds.
        moment: whoever waits for a run is notified there when one has ended.

    Attributes:
        closing: true once nothing more is to be performed.
        generation: how often the lock was lost.
        changing: held while performing begins or ends.
        threads: how many handlers may run at the same time.
        turns: the runs that tasks of this worker perform.

    Raises:
        Misuse: another engine works on this file.
    """

    def __init__(
        self,
        interpreter: AnyInterpreter,
        recipes: Mapping[str, AnyRecipe],
        store: Store,
        concurrency: int | None,
        hold: float,
        moment: Condition,
    ) -> None:
        self.interpreter = interpreter
        self.recipes = recipes
        self.store = store
        self.concurrency = concurrency
        self.hold = hold
        self.moment = moment
        self.process = os.getpid()
        self.closing = False
        self.generation = 0
        self.changing = Lock()
        self.threads = asyncio.Semaphore(THREADS)
        self.turns = Turns()
        self.dbos: DBOS | None = None
        self.strays: Strays | None = None
        self.aborts: set[Abort] = set()
        self.returning: set[asyncio.Task[None]] = set()
        self.worker = self.new_worker()
        WORKING.append(self)
        try:
            outside_of_event_loops(self.launch)
        except BaseException:
            self.close()
            raise

    def new_worker(self) -> Worker:
        """Begin to show that this process is alive."""
        if not self.store.sqlite:
            return OnServer(self.store)
        path = file_of(self.store.database)
        worker = OnFile(path, time.time)
        with closing(sqlite3.connect(path)) as connection:  # quicker, and readers stop nobody
            connection.execute("pragma journal_mode=wal")
        return worker

    def launch(self) -> None:
        """Begin to perform runs, those first that this worker had."""
        ENGINE_LOGGER.handlers.clear()  # its handler keeps the standard error of the last launch
        self.dbos = DBOS(
            config={
                "name": APPLICATION,
                "system_database_url": self.store.database,
                "application_version": VERSION,
                "executor_id": self.worker.id,
                "serializer": SERIALIZER(),
                "db_engine_kwargs": {"pool_events": [(taught, "connect")]},
                "sys_db_pool_size": CONNECTIONS_TO_FILE if self.store.sqlite else CONNECTIONS,
                "notification_listener_polling_interval_sec": POLL,
                "sys_db_idle_transaction_timeout_sec": IDLE,
                "log_level": "CRITICAL",  # or there is a traceback for each run that fails
            }
        )

        held = Held(self.worker, self.generation)  # a run may come late from a queue

        async def body(recipe: str, given: dict[str, Any], run: str, stretch: int) -> Any:
            async with self.turns.of(run):
                return await self.performed(Start(run, recipe, given), stretch, held)

        DBOS.workflow(
            name=WORKFLOW,
            max_recovery_attempts=None,
            serialization_type=WorkflowSerializationFormat.PORTABLE,
        )(body)
        DBOS.listen_queues([queue_of(name) for name in self.recipes])
        for name in self.recipes:  # before DBOS looks for queues, as it does once a second
            self.store.register(name, self.concurrency, POLL)
        DBOS.launch()
        self.dbos._sys_db._retry_connection_errors = False  # or threads go on, even at exit
        self.worker.watch(self.begin_again, self.turns.taken)
        self.strays = Strays(self.store, self.worker.id, self.turns.taken)

    def begin_again(self) -> None:
        """Leave all runs, since the lock was lost, and go on as another worker.

        Somebody may have taken them over by now. What was performed meanwhile and is kept before
        that is kept; later the database refuses it.
        """
        LOGGER.warning("worker %s has lost its lock, and leaves its runs", self.worker.id)
        self.generation += 1
        with self.changing:
            self.stop()
            self.worker.close()
        moment = Event()
        while not self.joined_again():
            moment.wait(TROUBLE[0])

    def joined_again(self) -> bool:
        """Try to perform runs as another worker; return false if the database cannot be reached."""
        with self.changing:
            if self.closing:
                return True
            try:
                self.worker = self.new_worker()
                self.threads = asyncio.Semaphore(THREADS)
                self.turns = Turns()
                self.launch()
            except Exception as error:
                LOGGER.warning("the database cannot be reached, trying again: %s", in_words(error))
                self.stop()
                self.worker.close()
                return False
            return True

    def stop(self) -> None:
        """Abort handlers, and end DBOS, but before that what takes runs from queues.

        That would wait for ever for an event loop that has ended.
        """
        if self.strays is not None:
            self.strays.close()
        for abort in tuple(self.aborts):
            abort.request()
        if self.dbos is not None:
            for event in self.dbos.background_thread_stop_events:
                event.set()
        end = time.monotonic() + STOPPING
        for thread in threading.enumerate():
            if thread.name.startswith("queue-worker-") and thread.is_alive():
                thread.join(max(end - time.monotonic(), 0.0))
        DBOS.destroy(destroy_registry=True)
        self.dbos = None

    def close(self) -> None:
        """Perform nothing more."""
        self.closing = True
        with suppress(ValueError):
            WORKING.remove(self)
        with self.changing:
            outside_of_event_loops(self.stop)
            self.worker.close()

    def now(self) -> float:
        """Return the seconds since the epoch, on the clock that all workers share."""
        return self.worker.now()

    def left(self, held: Held) -> bool:
        """Return whether nothing more is to be performed of what a worker took."""
        return self.closing or held.generation != self.generation

    async def performed(self, start: Start, stretch: int, held: Held) -> JSON:
        """Perform one stretch of a run; return its value, or the stretch that follows.

        Raises:
            RunFailed: it ended with a failure.
        """
        self.watch_end(start, stretch, held)
        try:
            recipe = self.recipes[start.recipe]
            args = [decode(value) for value in start.given["args"]]
            kwargs = {name: decode(value) for name, value in start.given["kwargs"].items()}
            program, how = recipe.begun(*args, **kwargs)
            if fingerprint(program, how) != start.given["plan"]:
                LOGGER.warning(
                    "%s was changed since run %s began: it goes on as far as it agrees",
                    *(start.recipe, start.run),
                )
            journal = await Stretch.loaded(self, start, stretch, held)
            value = await run_durably(program, how, self.interpreter, journal, start.given["seed"])
            return {"value": encode(value)}
        except Parked as parked:
            owner = owner_of(start.run, stretch)
            await insisted(start.run, self.park, start, stretch, parked, owner)
            return {"next": stretch_of(start.run, stretch + 1)}
        except Lost:
            if self.left(held):
                raise asyncio.CancelledError from None
            raise DBOSWorkflowConflictIDError(stretch_of(start.run, stretch)) from None
        except Cancelled:
            raise DBOSWorkflowCancelledError(f"run {start.run} was cancelled") from None
        except Exception as failure:
            other_code = isinstance(failure, Diverged | Unrecordable)
            raise RunFailed(encode_failure(failure), other_code) from None
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as stop:  # such as SystemExit, which would end the event loop
            raise RunFailed(encode_failure(stop)) from None
        finally:
            with self.moment:
                self.moment.notify_all()

    def park(self, start: Start, stretch: int, parked: Parked, owner: str) -> None:
        """Have the next stretch of a run begin when its wait is nearly over; that waits the rest.

        Where a limit may be full of runs that wait, it begins when the wait is over.
        """
        left = parked.left()
        early = min(HEAD_START, left / 10) if self.concurrency is None else 0.0
        self.store.park(start, stretch, left - early, owner)

    @contextmanager
    def abortable(self) -> Generator[None]:
        """Let the handler that is asked in this block be aborted when nothing more is performed."""
        abort = Abort()
        self.aborts.add(abort)
        token = ABORT.set(abort)
        try:
            yield
        finally:
            ABORT.reset(token)
            self.aborts.discard(abort)

    def watch_end(self, start: Start, stretch: int, held: Held) -> None:
        """Have a worker go on with a stretch if the database fails to keep that it has ended."""
        owner = owner_of(start.run, stretch)

        def ended(task: asyncio.Task[Any]) -> None:
            if self.left(held) or task.cancelled():
                return
            if not isinstance(task.exception(), SQLAlchemyError):
                return
            given = (stretch_of(start.run, stretch), held.worker.id, owner)
            returning = insisted(start.run, self.store.give_back, *given)
            self.returning.add(asyncio.create_task(returning))

        task = asyncio.current_task()
        if task is not None:
            task.add_done_callback(ended, context=Context())


def outside_of_event_loops(function: Any) -> None:
    """Call a function in a thread of its own: DBOS would take an event loop that runs for its."""
    errors: list[BaseException] = []

    def work() -> None:
        try:
            function()
        except BaseException as error:
            errors.append(error)

    thread = Thread(target=work)
    thread.start()
    thread.join()
    for error in errors:
        raise error
