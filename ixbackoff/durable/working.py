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
from typing import Any, TypeAlias

from dbos import DBOS, StepOptions, WorkflowSerializationFormat
from dbos._error import DBOSWorkflowCancelledError, DBOSWorkflowConflictIDError
from sqlalchemy.exc import SQLAlchemyError

from .._meaning.replay import Diverged
from .._running.aborting import ABORT, Abort
from .._running.loops import AnyInterpreter
from .._running.sleeping import LONGEST_SLEEP, awaitable
from .._words.commands import Misuse
from .clocks import since_boot
from .codec import JSON, Unrecordable, decode, encode, encode_failure
from .journal import Cancelled, Entry, InThread, Lost, Make, Parked, after
from .performing import run_durably
from .recipes import Recipe, fingerprint
from .store import (
    APPLICATION,
    IDLE,
    SERIALIZER,
    VERSION,
    WORKFLOW,
    RunFailed,
    Start,
    Store,
    is_cancelled,
    queue_of,
    stretch_of,
)
from .troubles import TROUBLE, in_words, insisted, later
from .workers import OnFile, OnServer, Worker

AnyRecipe: TypeAlias = Recipe[Any, Any, Any]

LOGGER = getLogger("ixbackoff")
ENGINE_LOGGER = getLogger("dbos")
POLL = 0.1  # seconds between two looks at a queue, or at a run whose result somebody waits for
THREADS = 64  # handlers at the same time
STOPPING = 5.0  # seconds in which what takes runs from queues has to end
BEGIN = "begin"
"""The place of the first entry, so that who comes next knows that a run was begun."""

WORKING: list[Working] = []
"""What works in this process; DBOS allows for one."""


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

    Raises:
        Misuse: another engine works in this process, or on this file.
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
        self.dbos: DBOS | None = None
        self.aborts: set[Abort] = set()
        self.returning: set[asyncio.Task[None]] = set()
        if WORKING and WORKING[0].process != os.getpid():
            raise Misuse(
                "This process was forked from one in which an engine works, so none can work here: "
                "begin it with the start method spawn."
            )
        if WORKING:
            raise Misuse(
                "Another engine works in this process: give it all recipes, or close it first."
            )
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
        path = self.store.database.partition("///")[2]
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
                "notification_listener_polling_interval_sec": POLL,
                "sys_db_idle_transaction_timeout_sec": IDLE,
                "log_level": "CRITICAL",  # or there is a traceback for each run that fails
            }
        )

        async def body(recipe: str, given: dict[str, Any], run: str, stretch: int) -> Any:
            return await self.performed(Start(run, recipe, given), stretch)

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
        self.worker.watch(self.begin_again)

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

    async def performed(self, start: Start, stretch: int) -> JSON:
        """Perform one stretch of a run; return its value, or the stretch that follows.

        Raises:
            RunFailed: it ended with a failure.
        """
        generation = self.generation
        self.watch_end(start, stretch)
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
            journal = await Stretch.loaded(self, start, stretch)
            value = await run_durably(program, how, self.interpreter, journal, start.given["seed"])
            return {"value": encode(value)}
        except Parked as parked:
            following = stretch + 1
            await insisted(start.run, self.store.enqueue, start, following, parked.seconds)
            return {"next": stretch_of(start.run, following)}
        except Lost:
            if self.closing or generation != self.generation:
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

    def watch_end(self, start: Start, stretch: int) -> None:
        """Have a worker go on with a stretch if the database fails to keep that it has ended."""
        generation = self.generation

        def ended(task: asyncio.Task[Any]) -> None:
            left = self.closing or generation != self.generation
            if left or task.cancelled() or not isinstance(task.exception(), SQLAlchemyError):
                return
            identity = stretch_of(start.run, stretch)
            returning = insisted(start.run, self.store.give_back, identity, self.worker.id)
            self.returning.add(asyncio.create_task(returning))

        task = asyncio.current_task()
        if task is not None:
            task.add_done_callback(ended, context=Context())


class Stretch:
    """The journal of a run, in one stretch of it: a workflow of DBOS, each entry a step of it.

    Args:
        working: who performs the run.
        start: what the run began with.
        number: the number of the stretch.
        entries: the entries by their places.
        before: the places of those that earlier stretches kept.
    """

    def __init__(
        self,
        working: Working,
        start: Start,
        number: int,
        entries: dict[str, Entry],
        before: frozenset[str],
    ) -> None:
        self.working = working
        self.generation = working.generation
        self.run = start.run
        self.number = number
        self.entries = entries
        self.before = before
        self.resumed = BEGIN in entries
        self.began = 0.0

    @classmethod
    async def loaded(cls, working: Working, start: Start, number: int) -> Stretch:
        """Read the journal, and begin the stretch."""
        entries: dict[str, Entry] = {}
        before: frozenset[str] = frozenset()
        taken = 0
        for stretch in range(number + 1):
            before = frozenset(entries)
            steps = await insisted(start.run, working.store.steps, stretch_of(start.run, stretch))
            taken = max((step for step, _ in steps), default=0)
            entries |= {entry["at"]: entry for _, entry in steps if entry is not None}
        for _ in range(taken):
            DBOS.reserve_step()
        made = cls(working, start, number, entries, before)
        if not made.resumed:
            now = working.now()
            await made.keep(BEGIN, "run", InThread(lambda: {"at": BEGIN, "now": now}))
        made.began = made.entries[BEGIN]["now"]
        return made

    @property
    def closing(self) -> bool:
        return self.working.closing or self.generation != self.working.generation

    def known(self, place: str) -> Entry | None:
        return self.entries.get(place)

    def now(self) -> float:
        return self.working.now()

    def parks(self, seconds: float) -> bool:
        return seconds > self.working.hold

    async def keep(self, place: str, kind: str, make: Make) -> Entry:
        made = Once(make)
        name = f"{place} {kind}"
        tried = 0
        while True:
            try:
                if isinstance(make, InThread):
                    async with self.working.threads:
                        with self.working.abortable():
                            entry = await DBOS.run_step_async({"name": name}, made.make)
                else:
                    preemptible: StepOptions = {"name": name, "preemptible": True}
                    entry = await DBOS.run_step_async(preemptible, made.make_async)
            except (DBOSWorkflowCancelledError, DBOSWorkflowConflictIDError):
                raise await self.taken_away() from None
            except Exception as error:
                if made.error is error:
                    raise
                await later(self.run, error, tried)
                tried += 1
            else:
                self.entries[place] = entry
                return entry

    async def taken_away(self) -> Lost | Cancelled:
        """Return what ends the run here: it was cancelled, or it was paused or is another's."""
        found = await insisted(self.run, self.working.store.stretches, self.run)
        return Cancelled() if any(is_cancelled(one) for one in found) else Lost()

    async def wait(self, place: str, entry: Entry) -> None:
        if entry["parks"] and place not in self.before:
            raise Parked(max(self.left(entry), 0.0))

        async def waited() -> Entry:
            left = self.left(entry)
            if left > 0:
                await awaitable()(min(left, LONGEST_SLEEP))
            return {"at": after(place)}

        await self.keep(after(place), "waited", waited)

    def left(self, entry: Entry) -> float:
        """Return the rest of a wait, in seconds.

        Nobody sets the clock that counts since the machine was started. After another start, or on
        another machine, a wait takes no longer than it would take from the beginning.
        """
        boot = since_boot()
        if boot.id and boot.id == entry["boot"]:
            return float(entry["boot_due"]) - boot.seconds
        return min(float(entry["due"]) - self.now(), float(entry["seconds"]))


class Once:
    """Makes an entry once, however often the database fails to keep it."""

    def __init__(self, make: Make) -> None:
        self._make = make
        self._entry: Entry | None = None
        self.error: Exception | None = None

    def make(self) -> Entry:
        """Make it in this thread."""
        if self._entry is None and isinstance(self._make, InThread):
            try:
                self._entry = self._make.make()
            except Exception as error:
                self.error = error
                raise
        return self._entry or {}

    async def make_async(self) -> Entry:
        """Make it on the event loop."""
        if self._entry is None and not isinstance(self._make, InThread):
            try:
                self._entry = await self._make()
            except Exception as error:
                self.error = error
                raise
        return self._entry or {}


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
