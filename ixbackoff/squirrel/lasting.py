"""Durable runs that keep resources: their recipe, their identity, and who performs them."""

from __future__ import annotations

import hashlib
import re
import shutil
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from .. import N3, Command, Delay, Exponential, Program, Upload, Z
from .._limits.budgets import RetryBudget
from .._limits.events import Began, Event, WaitBegan
from .._meaning.defaults import Defaults
from .._words.commands import Handler
from .._writing.programs import at_with
from ..durable import Engine, Workflow, durable
from ..durable.clocks import left
from ..durable.codec import decode
from ..durable.journal import Entry, after
from ..durable.store import CANCELLED
from ..durable.summaries import entries_of, summary_of
from .commands import Brought, Resource
from .copying import outcome
from .display import Display, Line
from .passing import Passing
from .pipeline import Kept, Places, Row, keep
from .sealing import FileGone, check_sealed, seal, sweep

DIGITS = 12
NAME = 60  # characters of a host in the id of a run
SHORT = 0.05  # seconds of a rest of a wait that nobody need be told of

Keeping: TypeAlias = Workflow[[Resource, Places, float, float], Kept, Row | Delay]


class Given(NamedTuple):
    """Arguments of a run, from whichever process began it.

    Attributes:
        resource: the resource.
        places: the places that it passes.
        base: the seconds of the first wait.
        within: the seconds that the run has.
    """

    resource: Resource
    places: Places
    base: float
    within: float


def recipe_for(destination: str) -> Keeping:
    """Make the recipe for one store and one index, so that no other squirrel takes its runs.

    >>> recipe_for("file:///objects, /index.sqlite")
    <Workflow squirrel-2066f4bc7d69>
    """

    @durable(name=f"squirrel-{digest(destination)}", budget=RetryBudget.botocore())
    def kept(
        resource: Resource, places: Places, base: float, within: float
    ) -> Program[N3, Z, Kept, Row | Delay]:
        how = Defaults(schedule=Exponential(base=base), within=within)
        return at_with(N3, how).retry(keep(resource, places))

    return kept


def digest(*parts: str) -> str:
    """Return some digits that are the same for the same texts."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:DIGITS]


def id_of(resource: Resource, recipe: str, number: int) -> str:
    """Return the id of the run that keeps a resource, the first or a later one of a command.

    >>> id_of(Resource("https://me:secret@localhost/nuts"), "squirrel-1", 1)
    'localhost-c19340761085'
    """
    host = re.sub("[^a-z0-9.]+", "-", urlsplit(resource.url).hostname or "")[:NAME]
    return f"{host}-{digest(recipe, resource.name, str(number))}"


@dataclass
class Runs:
    """The durable runs of one command line.

    Attributes:
        recipe: the recipe of all of them.
        places: the places of runs that begin; in their folder each has one of its own.
        base: the seconds of the first wait of runs that begin.
        within: the seconds that runs have which begin.
        passing: their files.
        display: it shows their waits.
        engine: performs them; `open` sets it.
    """

    recipe: Keeping
    places: Places
    base: float
    within: float
    passing: Passing
    display: Display
    _numbers: Counter[str] = field(default_factory=Counter[str])
    _given: dict[str, Given] = field(default_factory=dict[str, Given])
    _shown: set[str] = field(default_factory=set[str])
    _performed: dict[str, None] = field(default_factory=dict[str, None])

    @property
    def home(self) -> Path:
        """The folder for the folders of their files."""
        return Path(self.places.folder)

    def open(self, engine: Engine[Row | Delay]) -> None:
        """Perform runs by this engine, and remove the files of runs that have ended."""
        self.engine = engine
        sweep(self.home, engine.store.may_go_on)

    def line(self, resource: Resource) -> Line:
        """Keep a resource, or go on with that; return its line of the table."""
        self._numbers[resource.name] += 1
        run = id_of(resource, self.recipe.name, self._numbers[resource.name])
        self._greet(run, resource)
        places = self.places._replace(folder=str(self.home / run))
        return self._line(run, Given(resource, places, self.base, self.within))

    def others(self) -> list[Line]:
        """Return the lines of other runs, which an earlier command has left, and this went on with.

        One that is parked is left to the next command.
        """
        theirs = [run for run in list(self._performed) if run not in self._shown]
        rests = self.engine.store.rests
        return [self._line(run, self.given(run)) for run in theirs if not rests(run)]

    def forget(self) -> None:
        """Forget the runs whose lines were shown, so that the next command begins anew."""
        for run in self._shown:
            self.engine.store.forget(run)
        sweep(self.home, self.engine.store.may_go_on)

    def perform(self, command: Command[Any], handler: Handler) -> Any:
        """Perform a command, and see to it that what is uploaded is what was fetched."""
        if isinstance(command, Upload):
            check_sealed(command.path)
        answer = handler(command)
        if isinstance(answer, Brought):
            seal(answer.path)
        return answer

    def told(self, event: Event) -> None:
        """Show a wait; of one that another process began, the rest."""
        run = event.run.id
        if not isinstance(run, str):
            return
        if isinstance(event, Began):
            self._performed[run] = None
        if isinstance(event, WaitBegan):
            begun = self._open_wait(run)
            rest = None if begun is None else left(begun, time.time())
            if rest is None or rest > SHORT:
                self.display.wait(self.given(run).resource, event, rest)

    def given(self, run: str) -> Given:
        """Return what a run was begun with."""
        if run not in self._given:
            held = self.engine.store.given(run)["args"]
            self._given[run] = Given(*[decode(value) for value in held])
        return self._given[run]

    def _line(self, run: str, given: Given) -> Line:
        """Begin a run, or find it again; wait for its end, and return its line of the table."""
        begun = self.engine.start_with_id(run, self.recipe, *given)
        given = self.given(run)

        def result() -> Kept:
            try:
                return begun.result()
            except FileGone as gone:
                self.display.say(f"{given.resource}: {gone} It begins anew.")
                self.engine.store.forget(run)
                return self.engine.start_with_id(run, self.recipe, *given).result()

        try:
            line = outcome(given.resource, result)
        finally:
            self.display.over(given.resource)
        self._shown.add(run)
        waits = [one["seconds"] for one in self._entries(run).values() if "seconds" in one]
        self.passing.release(given.resource, given.places.folder, kept=True)
        shutil.rmtree(given.places.folder, ignore_errors=True)
        return line._replace(attempts=len(waits) + 1, waited=sum(waits))

    def _greet(self, run: str, resource: Resource) -> None:
        """Say that a run was begun before, if it goes on; forget one that was cancelled."""
        store = self.engine.store
        found = summary_of(store, run)
        if found is not None and found.state == CANCELLED:
            store.forget(run)
        if found is None or not store.may_go_on(run):
            return
        if found.state == "paused":
            self.display.say(
                f"{resource}: paused, until python -m ixbackoff.durable resume {run} (--database "
                f"as here)"
            )
            return
        state = f"; it {found.state}" if store.rests(run) else ""
        self.display.say(f"{resource}: going on where it was{state}")

    def _entries(self, run: str) -> dict[str, Entry]:
        return entries_of(self.engine.store, self.engine.store.segments(run))

    def _open_wait(self, run: str) -> Entry | None:
        """Return the wait that a run is in, if it was begun before."""
        entries = self._entries(run)
        waits = [one for one in entries.values() if "seconds" in one]
        return waits[-1] if waits and after(waits[-1]["at"]) not in entries else None
