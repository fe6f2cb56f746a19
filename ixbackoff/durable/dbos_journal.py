"""The journal of one segment of a run: a DBOS workflow whose steps are the entries.

A run is one segment if it is never parked. Each parked wait ends a segment, and the next segment
starts with the entries of all earlier segments, or only of those that its checkpoint names.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import copy_context
from functools import partial
from threading import Event, Lock
from typing import NamedTuple, Protocol, TypeVar

from dbos import DBOS, StepOptions, StepReservation
from dbos import error as dbos_errors

from .._running.sleeping import LONGEST_SLEEP, awaitable
from .clocks import left
from .journal import Cancelled, Entry, Make, MakeAsync, Parked, RunLost, after
from .outages import insist, insist_async, outside_of_workflows
from .store import NewRun, Store, converted, is_cancelled, owner_of, segment_id
from .worker_liveness import WorkerLock

A = TypeVar("A")

MOMENT = 0.02  # seconds between two checks of the worker's lock
BEGIN = "begin"
"""The place of the first entry. If the journal has this entry, the run has already begun."""

TAKEN_AWAY = dbos_errors.DBOSWorkflowCancelledError, dbos_errors.DBOSWorkflowConflictIDError


class Held(NamedTuple):
    """The right of a process to perform a run: the lock that it held when it took the run."""

    lock: WorkerLock
    generation: int  # the number of locks that the process had lost before
    over: Event  # set once the process has lost the lock or shuts down


class RunHost(Protocol):
    """The worker that performs a segment."""

    store: Store
    threads: asyncio.Semaphore  # limits the handlers that run in threads
    hold: float  # the longest wait, in seconds, that is not parked

    def abortable(self) -> AbstractContextManager[None]:
        """If the worker shuts down, abort the handler that this block calls."""
        raise NotImplementedError


class SegmentJournal:
    """The journal of a run during one segment; segments are numbered from 0."""

    def __init__(self, host: RunHost, start: NewRun, number: int, held: Held) -> None:
        self.checkpoint = start.checkpoint
        self.host = host
        self.held = held
        self.run = start.run
        self.seed: int = start.given["seed"]
        self.number = number
        self.entries: dict[str, Entry] = {}  # by their places
        self.before: frozenset[str] = frozenset()  # the places of entries of earlier segments
        self.resumed = False
        self.began = 0.0
        self.numbering = Lock()

    @classmethod
    async def loaded(cls, host: RunHost, start: NewRun, number: int, held: Held) -> SegmentJournal:
        made = cls(host, start, number, held)
        await made.in_thread(made.load)
        return made

    def load(self) -> None:
        """Read the journal; if it is empty, record the start of the run."""
        earlier = range(self.number) if self.checkpoint is None else self.checkpoint.segments
        ids = {segment_id(self.run, segment): segment for segment in (*earlier, self.number)}
        steps: list[tuple[int, Entry | None]] = []
        for segment, steps in self.insist(partial(self.host.store.steps_of, [*ids])).items():
            self.before = frozenset(self.entries)
            found = [self.opened(entry) for _, entry in steps if entry is not None]
            self.entries |= {entry["at"]: entry | {"in": ids[segment]} for entry in found}
        if self.checkpoint is not None:
            self.before |= {self.checkpoint.place}
        for _ in range(max((step for step, _ in steps), default=0)):
            DBOS.reserve_step()
        self.resumed = BEGIN in self.entries
        if self.resumed:
            self.check_owned()
        else:
            self.keep(BEGIN, "run", lambda: {"at": BEGIN, "now": self.now()})
        self.began = self.entries[BEGIN]["now"]

    def check_owned(self) -> None:
        """Raise RunLost if another task has begun the segment again, or the run was paused."""
        owner = owner_of(self.run, self.number)
        if not self.insist(partial(self.host.store.owned, self.run, self.number, owner)):
            lost = self.taken_away()
            if isinstance(lost, RunLost):  # a cancelled run is replayed, so that it cleans up
                raise lost

    @property
    def closing(self) -> bool:
        return self.held.over.is_set()

    def sure(self) -> bool:
        """Return whether the worker is sure of its lock; raise RunLost once `held.over` is set."""
        if self.closing:
            raise RunLost
        return self.held.lock.has_lock()

    def insist(self, function: Callable[[], A]) -> A:
        """Query the database; retry while it fails, and raise RunLost if the worker shuts down."""
        return insist(self.run, outside_of_workflows(function), self.held.over)

    def known(self, place: str) -> Entry | None:
        return self.entries.get(place)

    def now(self) -> float:
        return self.held.lock.now()

    def parks(self, seconds: float) -> bool:
        return seconds > self.host.hold

    @property
    def crowded(self) -> bool:
        return self.host.threads.locked()

    async def in_thread(self, function: Callable[[], A]) -> A:
        context = copy_context()
        async with self.host.threads:
            value = await asyncio.to_thread(context.run, function)
        for variable in context:  # the program may have set context variables in the thread
            if variable.get(None) is not context[variable]:
                variable.set(context[variable])
        return value

    def keep(self, place: str, kind: str, make: Make) -> Entry:
        once = Once(self)
        options: StepOptions = {"name": f"{place} {kind}"}

        def recorded() -> Entry:
            try:
                with self.host.abortable():
                    return self.step().run(options, once.make, make)
            except TAKEN_AWAY:
                raise self.taken_away() from None

        kept = insist(self.run, recorded, self.held.over, once.is_of_database)
        entry = self.entries[place] = self.opened(kept) | {"in": self.number}
        return entry

    async def keep_async(self, place: str, kind: str, make: MakeAsync) -> Entry:
        once = Once(self)
        options: StepOptions = {"name": f"{place} {kind}", "preemptible": True}

        async def recorded() -> Entry:
            try:
                return await self.step().run_async(options, once.make_async, make)
            except TAKEN_AWAY:
                raise await asyncio.to_thread(self.taken_away) from None

        kept = await insist_async(self.run, recorded, once.is_of_database)
        entry = self.entries[place] = self.opened(kept) | {"in": self.number}
        return entry

    def opened(self, entry: Entry) -> Entry:
        return converted(entry, self.host.store.opened)

    def sealed(self, entry: Entry) -> Entry:
        return converted(entry, self.host.store.sealed)

    def step(self) -> StepReservation:
        """Reserve the next step, under a lock, because several threads may do so."""
        with self.numbering:
            return DBOS.reserve_step()

    def taken_away(self) -> RunLost | Cancelled:
        found = self.insist(partial(self.host.store.segments, self.run))
        return Cancelled() if any(is_cancelled(one) for one in found) else RunLost()

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
        return left(entry, self.now())


class Once:
    """An entry that is made once, although recording it may be retried.

    The entry is not made until the worker is sure of its lock.
    """

    def __init__(self, journal: SegmentJournal) -> None:
        self._journal = journal
        self._making = False
        self._entry: Entry | None = None

    def is_of_database(self, _: Exception) -> bool:
        """Return whether the database has failed, rather than `make`."""
        return not self._making

    def make(self, make: Make) -> Entry:
        if self._entry is None:
            while not self._journal.sure():
                self._journal.held.over.wait(MOMENT)
            self._making = True
            self._entry = self._journal.sealed(make())
            self._making = False
        return self._entry

    async def make_async(self, make: MakeAsync) -> Entry:
        if self._entry is None:
            while not self._journal.sure():
                await awaitable()(MOMENT)
            self._making = True
            self._entry = self._journal.sealed(await make())
            self._making = False
        return self._entry
