"""Durable runs that keep resources: their workflow, their ids, and their files."""

from __future__ import annotations

import hashlib
import re
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from .. import N3, Command, Delay, Exponential, Program, Upload, Z
from .._limits.budgets import RetryBudget
from .._limits.events import Began, Event, WaitBegan
from .._meaning.run_defaults import Defaults
from .._running.aborting_handlers import ABORT, Abort
from .._words.commands import Handler
from .._writing.programs import at_with
from ..durable import Engine, Workflow, durable
from ..durable.clocks import left
from ..durable.codec import decode
from ..durable.journal import Entry, after
from ..durable.store import CANCELLED
from ..durable.summaries import entries_of, summary_of
from .commands import Brought, Resource
from .fetched_files import FetchedFiles
from .file_seals import FileGone, check_sealed, remove_run, seal, sweep
from .keep_all import outcome
from .pipeline import Kept, Places, Row, keep
from .progress_display import Display
from .summary import SummaryLine

DIGITS = 12
NAME = 60  # characters of a host in the id of a run
SHORT = 0.05  # a resumed wait with fewer seconds left is not shown

Keeping: TypeAlias = Workflow[[Resource, Places, float, float], Kept, Row | Delay, N3]


class Arguments(NamedTuple):
    """The arguments of a run, which an earlier process may have started."""

    resource: Resource
    places: Places
    base: float  # the seconds of the first wait
    within: float  # the time limit of the run, seconds


def workflow_for(destination: str) -> Keeping:
    """Make the workflow for a store and an index; only squirrels that use both perform its runs."""

    @durable(name=f"squirrel-{digest(destination)}", budget=RetryBudget.botocore())
    def kept(
        resource: Resource, places: Places, base: float, within: float
    ) -> Program[N3, Z, Kept, Row | Delay]:
        defaults = Defaults(schedule=Exponential(base=base), within=within)
        return at_with(N3, defaults).retry(keep(resource, places))

    return kept


def digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:DIGITS]


def id_of(resource: Resource, workflow: str, number: int) -> str:
    """Return the id of the run that keeps a resource for the `number`-th time in a command line.

    >>> id_of(Resource("https://me:secret@localhost/nuts"), "squirrel-1", 1)
    'localhost-c19340761085'
    """
    host = re.sub("[^a-z0-9.]+", "-", urlsplit(resource.url).hostname or "")[:NAME]
    return f"{host}-{digest(workflow, resource.name, str(number))}"


@dataclass
class Runs:
    """The durable runs of one command line."""

    workflow: Keeping
    places: Places  # `places.folder` contains the folder of each run
    base: float  # the seconds of the first wait of new runs
    within: float  # the time limit of new runs, seconds
    files: FetchedFiles
    display: Display
    _numbers: Counter[str] = field(default_factory=Counter[str])
    _arguments: dict[str, Arguments] = field(default_factory=dict[str, Arguments])
    _shown: set[str] = field(default_factory=set[str])
    _performed: dict[str, None] = field(default_factory=dict[str, None])  # in order
    _aborts: set[Abort] = field(default_factory=set[Abort])

    @property
    def home(self) -> Path:
        return Path(self.places.folder)

    def open(self, engine: Engine[Row | Delay]) -> None:
        """Use this engine, and remove the files of ended runs."""
        self.engine = engine
        sweep(self.home, engine.store.can_continue)

    def line(self, resource: Resource) -> SummaryLine:
        """Keep a resource by a new run, or resume its run; return its line of the summary."""
        self._numbers[resource.name] += 1
        run = id_of(resource, self.workflow.name, self._numbers[resource.name])
        self._greet(run, resource)
        places = self.places._replace(folder=str(self.home / run))
        return self._line(run, Arguments(resource, places, self.base, self.within))

    def others(self) -> list[SummaryLine]:
        """Return the lines of resumed runs of other command lines; skip parked and paused runs."""
        others = [run for run in list(self._performed) if run not in self._shown]
        rests = self.engine.store.rests
        return [self._line(run, self.arguments(run)) for run in others if not rests(run)]

    def forget(self) -> None:
        """Forget the runs whose lines were printed: the next command line then begins new runs."""
        for run in self._shown:
            self.engine.store.forget(run)
        sweep(self.home, self.engine.store.can_continue)

    def perform(self, command: Command[Any], handler: Handler) -> Any:
        """Perform a command; before an upload, check that its file is as it was fetched."""
        if isinstance(command, Upload):
            check_sealed(command.path)
        abort = ABORT.get() or Abort()
        token = ABORT.set(abort)
        self._aborts.add(abort)
        try:
            answer = handler(command)
        finally:
            self._aborts.discard(abort)
            ABORT.reset(token)
        if isinstance(answer, Brought):
            seal(answer.path)
        return answer

    def abort(self) -> None:
        """Abort the current commands; the engine is closed, so it does not record their answers."""
        for abort in [*self._aborts]:
            with suppress(OSError):
                abort.request()

    def observe(self, event: Event) -> None:
        """Show a wait, with its remaining seconds if another process began it."""
        if not isinstance(event, Began | WaitBegan) or not isinstance(event.run.id, str):
            return
        run = event.run.id
        if isinstance(event, Began):
            self._performed[run] = None
        else:
            begun = self._open_wait(run)
            rest = None if begun is None else left(begun, time.time())
            if rest is None or rest > SHORT:
                self.display.wait(self.arguments(run).resource, event, rest)

    def arguments(self, run: str) -> Arguments:
        if run not in self._arguments:
            stored = self.engine.store.given(run)["args"]
            self._arguments[run] = Arguments(*[decode(value) for value in stored])
        return self._arguments[run]

    def _line(self, run: str, arguments: Arguments) -> SummaryLine:
        """Start or find a run and wait for its end; return its line of the summary."""
        started = self.engine.start_with_id(run, self.workflow, *arguments)
        arguments = self.arguments(run)

        def result() -> Kept:
            try:
                return started.result()
            except FileGone as gone:
                self.display.say(f"{arguments.resource}: {gone} The run begins anew.")
                self.engine.store.forget(run)
                return self.engine.start_with_id(run, self.workflow, *arguments).result()

        try:
            line = outcome(arguments.resource, result)
        finally:
            self.display.over(arguments.resource)
        self._shown.add(run)
        waits = [entry["seconds"] for entry in self._entries(run).values() if "seconds" in entry]
        self.files.release(arguments.resource, arguments.places.folder, kept=True)
        remove_run(self.home, run)
        return line._replace(tries=len(waits) + 1, wait_seconds=sum(waits))

    def _greet(self, run: str, resource: Resource) -> None:
        """Print that a run resumes or is paused, if it exists; forget a cancelled run."""
        store = self.engine.store
        found = summary_of(store, run)
        if found is not None and found.state == CANCELLED:
            store.forget(run)
        if found is None or not store.can_continue(run):
            return
        if found.state == "paused":
            self.display.say(
                f"{resource}: paused, until `ixbackoff durable --database URL resume {run}`; URL "
                "is your --database, or sqlite:///FOLDER/runs.sqlite"
            )
            return
        state = f"; it {found.state}" if store.rests(run) else ""
        self.display.say(f"{resource}: resuming{state}")

    def _entries(self, run: str) -> dict[str, Entry]:
        return entries_of(self.engine.store, self.engine.store.segments(run))

    def _open_wait(self, run: str) -> Entry | None:
        """Return the current wait of a run, if the wait began before this process."""
        entries = self._entries(run)
        waits = [entry for entry in entries.values() if "seconds" in entry]
        return waits[-1] if waits and after(waits[-1]["at"]) not in entries else None
