"""Working: performing runs with DBOS, whose steps are the entries of their journals."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from contextvars import Context, copy_context
from logging import getLogger
from threading import Condition, Event, Lock, Thread
from typing import Any, TypeAlias, TypeVar

from dbos import DBOS, StepOptions, StepReservation, WorkflowSerializationFormat
from dbos._error import DBOSWorkflowCancelledError, DBOSWorkflowConflictIDError

from .._meaning.replay import Diverged
from .._running.loops import AnyInterpreter
from .._running.sleeping import LONGEST_SLEEP, awaitable
from .._words.commands import Misuse
from .clocks import left
from .codec import JSON, Unrecordable, decode, encode, encode_failure
from .journal import Cancelled, Entry, Lost, Make, MakeAsync, Parked, after
from .performing import run_durably
from .recipes import Recipe, fingerprint
from .store import (
    APPLICATION,
    SERIALIZER,
    VERSION,
    WORKFLOW,
    RunFailed,
    Start,
    Store,
    file_of,
    is_cancelled,
    owner_of,
    queue_of,
    stretch_of,
)
from .turns import Turns
from .workers import OnFile, OnServer, Worker

A = TypeVar("A")
AnyRecipe: TypeAlias = Recipe[Any, Any, Any]

LOGGER = getLogger("ixbackoff")
ENGINE_LOGGER = getLogger("dbos")
POLL = 0.1  # seconds between two looks at a queue, or at a run whose result somebody waits for
MOMENT = 0.02  # seconds between two looks at whether this process has a run
THREADS = 64  # handlers at the same time
CONNECTIONS = 20
CONNECTIONS_TO_FILE = 3  # SQLite makes those who collide sleep, so most wait for one of these
HEAD_START = 2.0  # seconds: DBOS looks once a second for runs that are due, and hands them out
TROUBLE = (1.0, 2.0, 5.0, 10.0)  # seconds before the database is tried again; the last ones go on
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
        threads: how many handlers may run at the same time.
        turns: the runs that tasks of this worker perform.

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
        self.closing = False
        self.generation = 0
        self.changing = Lock()
        self.threads = asyncio.Semaphore(THREADS)
        self.turns = Turns()
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
        path = file_of(self.store.database)
        worker = OnFile(path, time.time)
        with closing(sqlite3.connect(path)) as connection:  # quicker, and readers stop nobody
            connection.execute("pragma journal_mode=wal")
        return worker

    def launch(self) -> None:
        """Begin to perform runs, those first that this worker had."""
        ENGINE_LOGGER.handlers.clear()  # its handler keeps the standard error of the last launch
        DBOS(
            config={
                "name": APPLICATION,
                "system_database_url": self.store.database,
                "application_version": VERSION,
                "executor_id": self.worker.id,
                "serializer": SERIALIZER(),
                "sys_db_pool_size": CONNECTIONS_TO_FILE if self.store.sqlite else CONNECTIONS,
                "notification_listener_polling_interval_sec": POLL,
                "log_level": "CRITICAL",  # or there is a traceback for each run that fails
            }
        )

        async def body(recipe: str, given: dict[str, Any], run: str, stretch: int) -> Any:
            async with self.turns.of(run):
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
        self.worker.watch(self.begin_again, self.turns.taken)

    def begin_again(self) -> None:
        """Leave all runs, since the lock was lost, and go on as another worker.

        Somebody may have taken them over by now. What was performed meanwhile and is kept before
        that is kept; later the database refuses it.
        """
        LOGGER.warning("worker %s has lost its lock, and leaves its runs", self.worker.id)
        self.generation += 1
        with self.changing:
            DBOS.destroy(destroy_registry=True)
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
                LOGGER.warning("the database cannot be reached, trying again: %r", error)
                DBOS.destroy(destroy_registry=True)
                self.worker.close()
                return False
            return True

    def close(self) -> None:
        """Perform nothing more."""
        self.closing = True
        with suppress(ValueError):
            WORKING.remove(self)
        with self.changing:
            outside_of_event_loops(lambda: DBOS.destroy(destroy_registry=True))
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
            owner = owner_of(start.run, stretch)
            await asyncio.to_thread(self.park, start, stretch, parked, owner)
            return {"next": stretch_of(start.run, stretch + 1)}
        except Lost:
            if self.closing or generation != self.generation:
                raise asyncio.CancelledError from None
            raise DBOSWorkflowConflictIDError(stretch_of(start.run, stretch)) from None
        except Cancelled:
            raise DBOSWorkflowCancelledError(f"run {start.run} was cancelled") from None
        except Exception as failure:
            other_code = isinstance(failure, Diverged | Unrecordable)
            raise RunFailed(encode_failure(failure), other_code) from None
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


class Stretch:
    """The journal of a run, in one stretch of it: a workflow of DBOS, each entry a step of it.

    Args:
        working: who performs the run.
        start: what the run began with.
        number: the number of the stretch.

    Attributes:
        entries: the entries by their places.
        before: the places of those that earlier stretches kept.
    """

    def __init__(self, working: Working, start: Start, number: int) -> None:
        self.working = working
        self.generation = working.generation
        self.run = start.run
        self.number = number
        self.entries: dict[str, Entry] = {}
        self.before: frozenset[str] = frozenset()
        self.resumed = False
        self.began = 0.0
        self.numbering = Lock()

    @classmethod
    async def loaded(cls, working: Working, start: Start, number: int) -> Stretch:
        """Read the journal, and begin the stretch."""
        made = cls(working, start, number)
        await made.in_thread(made.load)
        return made

    def load(self) -> None:
        """Read the journal; if there is nothing in it, keep when the run began."""
        taken = 0
        for stretch in range(self.number + 1):
            self.before = frozenset(self.entries)
            steps = self.working.store.steps(stretch_of(self.run, stretch))
            taken = max((step for step, _ in steps), default=0)
            self.entries |= {entry["at"]: entry for _, entry in steps if entry is not None}
        for _ in range(taken):
            DBOS.reserve_step()
        self.resumed = BEGIN in self.entries
        if self.resumed:
            self.check_owned()
        else:
            self.keep(BEGIN, "run", lambda: {"at": BEGIN, "now": self.now()})
        self.began = self.entries[BEGIN]["now"]

    def check_owned(self) -> None:
        """Check that nobody has begun this stretch again since it was handed to this task.

        Raises:
            Lost: somebody has, or the run was paused.
        """
        owner = owner_of(self.run, self.number)
        if not self.working.store.owned(self.run, self.number, owner):
            lost = self.taken_away()
            if isinstance(lost, Lost):  # one that was cancelled is replayed to clean up
                raise lost

    @property
    def closing(self) -> bool:
        return self.working.closing or self.generation != self.working.generation

    def sure(self) -> bool:
        """Return whether this process has the run; it may not know for a moment.

        Raises:
            Lost: it does not have it any more.
        """
        if self.closing:
            raise Lost
        return self.working.worker.has_lock()

    def known(self, place: str) -> Entry | None:
        return self.entries.get(place)

    def now(self) -> float:
        return self.working.now()

    def parks(self, seconds: float) -> bool:
        return seconds > self.working.hold

    @property
    def crowded(self) -> bool:
        return self.working.threads.locked()

    async def in_thread(self, function: Callable[[], A]) -> A:
        context = copy_context()
        async with self.working.threads:
            value = await asyncio.to_thread(context.run, function)
        for variable in context:  # what the program has set there
            if variable.get(None) is not context[variable]:
                variable.set(context[variable])
        return value

    def keep(self, place: str, kind: str, make: Make) -> Entry:
        made = Once(self.sure)
        options: StepOptions = {"name": f"{place} {kind}"}
        tried = 0
        while True:
            try:
                entry = self.step().run(options, made.make, make)
            except (DBOSWorkflowCancelledError, DBOSWorkflowConflictIDError):
                raise self.taken_away() from None
            except Exception as error:
                if made.error is error:
                    raise
                Event().wait(self.trouble(error, tried))
                if self.closing:
                    raise Lost from None
                tried += 1
            else:
                self.entries[place] = entry
                return entry

    async def keep_async(self, place: str, kind: str, make: MakeAsync) -> Entry:
        made = Once(self.sure)
        options: StepOptions = {"name": f"{place} {kind}", "preemptible": True}
        tried = 0
        while True:
            try:
                entry = await self.step().run_async(options, made.make_async, make)
            except (DBOSWorkflowCancelledError, DBOSWorkflowConflictIDError):
                raise await asyncio.to_thread(self.taken_away) from None
            except Exception as error:
                if made.error is error:
                    raise
                await awaitable()(self.trouble(error, tried))
                tried += 1
            else:
                self.entries[place] = entry
                return entry

    def step(self) -> StepReservation:
        """Take the next number of a step; threads and the event loop do so at the same time."""
        with self.numbering:
            return DBOS.reserve_step()

    def trouble(self, error: Exception, tried: int) -> float:
        """Tell of a database that fails; return the seconds before it is tried again."""
        LOGGER.warning("run %s: the database fails, trying again: %r", self.run, error)
        return TROUBLE[min(tried, len(TROUBLE) - 1)]

    def taken_away(self) -> Lost | Cancelled:
        """Return what ends the run here: it was cancelled, or it was paused or is another's."""
        found = Context().run(self.working.store.stretches, self.run)
        return Cancelled() if any(is_cancelled(one) for one in found) else Lost()

    async def wait(self, place: str, entry: Entry) -> None:
        if entry["parks"] and place not in self.before:
            raise Parked(max(self.left(entry), 0.0))

        over = {"at": after(place)}

        async def waited() -> Entry:
            left = self.left(entry)
            if left > 0:
                await awaitable()(min(left, LONGEST_SLEEP))
            return over

        if self.left(entry) > 0:
            await self.keep_async(after(place), "waited", waited)
        else:
            await self.in_thread(lambda: self.keep(after(place), "waited", lambda: over))

    def left(self, entry: Entry) -> float:
        """Return the rest of a wait, in seconds."""
        return left(entry, self.now())


class Once:
    """Makes an entry once, however often the database fails to keep it.

    Args:
        sure: returns whether this process has the run, and raises `Lost` if it does not; before
            that is sure nothing is made.

    Attributes:
        error: the error with which making it has failed, if it has.
    """

    def __init__(self, sure: Callable[[], bool]) -> None:
        self._sure = sure
        self._entry: Entry | None = None
        self.error: Exception | None = None

    def make(self, make: Make) -> Entry:
        if self._entry is None:
            while not self._sure():
                Event().wait(MOMENT)
            try:
                self._entry = make()
            except Exception as error:
                self.error = error
                raise
        return self._entry

    async def make_async(self, make: MakeAsync) -> Entry:
        if self._entry is None:
            while not self._sure():
                await awaitable()(MOMENT)
            try:
                self._entry = await make()
            except Exception as error:
                self.error = error
                raise
        return self._entry


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
