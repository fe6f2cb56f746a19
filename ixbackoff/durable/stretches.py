"""A stretch of a run: the journal of a run as one workflow of DBOS, each entry a step of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import copy_context
from functools import partial
from threading import Event, Lock
from typing import NamedTuple, Protocol, TypeVar

from dbos import DBOS, StepOptions, StepReservation
from dbos._error import DBOSWorkflowCancelledError, DBOSWorkflowConflictIDError

from .._running.sleeping import LONGEST_SLEEP, awaitable
from .clocks import left
from .journal import Cancelled, Entry, Lost, Make, MakeAsync, Parked, after
from .store import Start, Store, is_cancelled, owner_of, stretch_of
from .troubles import insist, later, later_async
from .workers import Worker

A = TypeVar("A")

MOMENT = 0.02  # seconds between two looks at whether this process has a run
BEGIN = "begin"
"""The place of the first entry, so that who comes next knows that a run was begun."""


class Held(NamedTuple):
    """Under what a process has a run: the lock that it held when it took it.

    Attributes:
        worker: the worker with the lock.
        generation: how often the process had lost a lock before.
    """

    worker: Worker
    generation: int


class Home(Protocol):
    """The place where a stretch is performed.

    Attributes:
        store: where runs are kept.
        threads: how many handlers may run at the same time.
        hold: the longest wait in which a run is held, in seconds.
    """

    store: Store
    threads: asyncio.Semaphore
    hold: float

    def left(self, held: Held) -> bool:
        """Return whether nothing more is to be performed of what a worker took."""
        raise NotImplementedError

    def now(self) -> float:
        """Return the seconds since the epoch, on the clock that all workers share."""
        raise NotImplementedError

    def abortable(self) -> AbstractContextManager[None]:
        """Let the handler that is asked in a block be aborted when nothing more is performed."""
        raise NotImplementedError


class Stretch:
    """The journal of a run, in one stretch of it: a workflow of DBOS, each entry a step of it.

    Args:
        home: who performs the run.
        start: what the run began with.
        number: the number of the stretch.
        held: the worker that took it, which may not be the one of this process any more.

    Attributes:
        entries: the entries by their places.
        before: the places of those that earlier stretches kept.
    """

    def __init__(self, home: Home, start: Start, number: int, held: Held) -> None:
        self.home = home
        self.held = held
        self.run = start.run
        self.number = number
        self.entries: dict[str, Entry] = {}
        self.before: frozenset[str] = frozenset()
        self.resumed = False
        self.began = 0.0
        self.numbering = Lock()

    @classmethod
    async def loaded(cls, home: Home, start: Start, number: int, held: Held) -> Stretch:
        """Read the journal, and begin the stretch."""
        made = cls(home, start, number, held)
        await made.in_thread(made.load)
        return made

    def load(self) -> None:
        """Read the journal; if there is nothing in it, keep when the run began."""
        taken = 0
        for stretch in range(self.number + 1):
            self.before = frozenset(self.entries)
            steps = self.insist(partial(self.home.store.steps, stretch_of(self.run, stretch)))
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
        if not self.insist(partial(self.home.store.owned, self.run, self.number, owner)):
            lost = self.taken_away()
            if isinstance(lost, Lost):  # one that was cancelled is replayed to clean up
                raise lost

    @property
    def closing(self) -> bool:
        return self.home.left(self.held)

    def check(self) -> None:
        """Check that this process may perform more of the run.

        Raises:
            Lost: it may not.
        """
        if self.closing:
            raise Lost

    def sure(self) -> bool:
        """Return whether this process has the run; it may not know for a moment.

        Raises:
            Lost: it does not have it any more.
        """
        self.check()
        return self.held.worker.has_lock()

    def insist(self, function: Callable[[], A]) -> A:
        """Ask the database, again and again while it fails.

        Raises:
            Lost: this process performs nothing more meanwhile.
        """
        return insist(self.run, function, self.check)

    def known(self, place: str) -> Entry | None:
        return self.entries.get(place)

    def now(self) -> float:
        return self.home.now()

    def parks(self, seconds: float) -> bool:
        return seconds > self.home.hold

    @property
    def crowded(self) -> bool:
        return self.home.threads.locked()

    async def in_thread(self, function: Callable[[], A]) -> A:
        context = copy_context()
        async with self.home.threads:
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
                with self.home.abortable():
                    entry = self.step().run(options, made.make, make)
            except (DBOSWorkflowCancelledError, DBOSWorkflowConflictIDError):
                raise self.taken_away() from None
            except Exception as error:
                if made.error is error:
                    raise
                later(self.run, error, tried, self.check)
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
                await later_async(self.run, error, tried)
                tried += 1
            else:
                self.entries[place] = entry
                return entry

    def step(self) -> StepReservation:
        """Take the next number of a step; threads and the event loop do so at the same time."""
        with self.numbering:
            return DBOS.reserve_step()

    def taken_away(self) -> Lost | Cancelled:
        """Return what ends the run here: it was cancelled, or it was paused or is another's."""
        found = self.insist(partial(self.home.store.stretches, self.run))
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
