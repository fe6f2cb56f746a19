"""The engine: performs durable runs with DBOS, on SQLite or PostgreSQL."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Callable, Mapping
from threading import Condition
from typing import Any, Generic, ParamSpec, TypeVar
from uuid import uuid4

from .._meaning.defaults import Defaults
from .._running.loops import AnyInterpreter, check_run
from .._words.commands import AsyncInterpreter, Interpreter, Misuse
from .._words.failures import Stopped
from .._writing.programs import Program
from .codec import JSON, decode, encode
from .recipes import Workflow, fingerprint
from .store import Start, Store, checked_id, failure_of, has_no_end, is_cancelled
from .working import POLL, AnyRecipe, Working, check_nobody_works

A = TypeVar("A")
B = TypeVar("B")
E = TypeVar("E")
P = ParamSpec("P")

DATABASE = "sqlite:///ixbackoff.sqlite"
SEED_BITS = 53


class Run(Generic[A]):
    """One durable run. Made by `Engine.start` and its kind.

    Attributes:
        id: its id, by which any process finds it.
    """

    def __init__(self, engine: Engine[Any], id: str) -> None:  # noqa: A002
        self._engine = engine
        self.id = id

    def result(self) -> A:
        """Wait for the value of the run.

        Raises:
            Exception: its last failure.
            Stopped: it was cancelled.
            LookupError: there is no such run any more.
            Misuse: the engine was closed before it ended.
        """
        value: A
        while True:
            over, value = self._engine.looked_up(self.id)
            if over:
                return value
            self._engine.wait_a_moment()

    async def result_async(self) -> A:
        """As `result`, awaited."""
        value: A
        while True:
            over, value = await asyncio.to_thread(self._engine.looked_up, self.id)
            if over:
                return value
            await asyncio.to_thread(self._engine.wait_a_moment)

    def __repr__(self) -> str:
        return f"<Run {self.id}>"


class Engine(Generic[E]):
    """Performs recipes so that they survive their process.

    A run goes on where it was after a crash: what was answered is not asked again, and the rest of
    a wait is waited. There is one engine that works in a process, and on SQLite one for each file.

    >>> from ixbackoff import N1, Z, Call, Delay, Program, at, call
    >>> from ixbackoff.durable import Engine, durable
    >>> from ixbackoff.live import live
    >>> @durable(name="title")
    ... def title(text: str) -> Program[N1, Z, str, Call[str] | Delay]:
    ...     return at(N1).retry(call(str.title, text))
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with Engine(live(), title, database=f"sqlite:///{folder}/runs.sqlite") as engine:
    ...         engine.start_with_id("greeting", title, "hello").result()
    'Hello'

    Args:
        interpreter: it answers the commands of all recipes; awaited handlers run on an event loop
            of the engine, others in threads.
        recipes: the recipes whose runs it performs.
        database: where runs are kept.
        concurrency: how many runs of one recipe are performed at the same time, parked ones not
            counted; by default, any number.
        hold: a run that waits longer than these seconds is parked: no process holds it.
        worker: false for a process that only begins runs.

    Raises:
        Misuse: an argument has the wrong type, two recipes have one name, another engine works in
            this process or on this file, or a newer DBOS made the tables.
        ConnectionError: the database cannot be reached.
    """

    def __init__(
        self,
        interpreter: Interpreter[E] | AsyncInterpreter[E],
        *recipes: Workflow[..., Any, E],
        database: str = DATABASE,
        concurrency: int | None = None,
        hold: float = 60.0,
        worker: bool = True,
    ) -> None:
        self._interpreter = checked_interpreter(interpreter)
        self._recipes = by_name(recipes)
        check_numbers(hold, concurrency)
        self._moment = Condition()
        self._process = os.getpid()
        self._closed = False
        self._working: Working | None = None
        if worker:
            check_nobody_works()  # first: SQLite may hang in the fork of a process that uses it
        self.store = Store(database)
        if worker:
            try:
                self._working = Working(
                    self._interpreter, self._recipes, self.store, concurrency, hold, self._moment
                )
            except BaseException:
                self.store.close()
                raise

    def __enter__(self) -> Engine[E]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Perform nothing more: the runs go on when the next engine begins."""
        if self._closed or self._process != os.getpid():
            return
        self._closed = True
        if self._working is not None:
            self._working.close()
        self.store.close()

    def start(self, recipe: Workflow[P, A, E], /, *args: P.args, **kwargs: P.kwargs) -> Run[A]:
        """Begin a run of a recipe with these arguments.

        Raises:
            Misuse: the recipe is not one of this engine, or its program cannot be run.
            Unrecordable: an argument cannot be recorded.
        """
        return self.start_with_id(uuid4().hex, recipe, *args, **kwargs)

    def start_with_id(
        self,
        id: str,  # noqa: A002
        recipe: Workflow[P, A, E],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Run[A]:
        """Begin a run with this id, unless there is one: the same id is the same run.

        Raises:
            Misuse: as `start`; or the id is not printable, or is that of a run of another recipe.
            Unrecordable: an argument cannot be recorded.
        """
        start = self._start(id, recipe, args, kwargs)
        self.store.enqueue(start)
        begun = self.store.last(id)
        theirs = None if begun is None else (begun.attributes or {}).get("recipe")
        if theirs not in (None, recipe.name):
            raise Misuse(f"Run {id} is one of the recipe {theirs}, not of {recipe.name}.")
        return Run(self, id)

    def start_many(
        self, recipe: Callable[[B], Program[Any, Any, A, E]], arguments: Mapping[str, B], /
    ) -> list[Run[A]]:
        """Begin runs of a recipe with one argument each, by their ids, in one transaction.

        As with `start_with_id`, the same id is the same run.

        Raises:
            Misuse: as `start`; or an id is not printable.
            Unrecordable: an argument cannot be recorded.
        """
        starts = [self._start(run, recipe, (given,), {}) for run, given in arguments.items()]
        self.store.enqueue_all(starts)
        return [Run(self, start.run) for start in starts]

    def _start(
        self, run: str, recipe: object, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Start:
        self._check_process()
        self._check_open(f"run {run} was not begun")
        if not isinstance(recipe, Workflow) or self._recipes.get(recipe.name) is not recipe:
            raise Misuse(f"{recipe!r} is not a recipe of this engine: give it to Engine(...).")
        program, how = recipe.begun(*args, **kwargs)
        timeless = Defaults(how.schedule, budget=how.budget)
        check_run(program, self._interpreter, Interpreter | AsyncInterpreter, timeless)
        given: dict[str, JSON] = {
            "args": [encode(value) for value in args],
            "kwargs": {name: encode(value) for name, value in kwargs.items()},
            "seed": random.getrandbits(SEED_BITS),
            "plan": fingerprint(program, how),
        }
        return Start(checked_id(run), recipe.name, given)

    def _check_process(self) -> None:
        if self._process != os.getpid():
            raise Misuse("This engine is of the process that made it: make another one here.")

    def _check_open(self, so: str) -> None:
        if self._closed:
            raise Misuse(f"This engine is closed, so {so}: make another one.")

    def looked_up(self, run: str) -> tuple[bool, Any]:
        """Return whether a run is over, and then its value.

        Raises:
            Exception: its last failure.
        """
        self._check_process()
        status = self.store.last(run)
        if status is None:
            raise LookupError(f"There is no run {run}: it was forgotten.")
        if status.status == "SUCCESS" and "value" in (status.output or {}):
            return True, decode((status.output or {})["value"])
        if status.status == "ERROR" and not has_no_end(status):
            raise failure_of(status)
        if status.status == "CANCELLED" and is_cancelled(status):
            raise Stopped(f"run {run} was cancelled")
        if status.status == "MAX_RECOVERY_ATTEMPTS_EXCEEDED":
            raise RuntimeError(f"Run {run} was given up, since each worker that had it has died.")
        self._check_open(f"run {run} goes on when the next one works")
        return False, None

    def wait_a_moment(self) -> None:
        """Wait until a run of this process has ended, or for the time between two looks."""
        with self._moment:
            self._moment.wait(POLL)


def checked_interpreter(interpreter: object) -> AnyInterpreter:
    """Return `interpreter`, if it is one.

    Raises:
        Misuse: it is not.
    """
    given: Any = interpreter
    if not isinstance(interpreter, Interpreter | AsyncInterpreter):
        raise Misuse(
            f"Engine({interpreter!r}, ...): give an interpreter, and the recipes after it."
        )
    checked: AnyInterpreter = given
    return checked


def by_name(recipes: tuple[object, ...]) -> dict[str, AnyRecipe]:
    """Return recipes by their names.

    Raises:
        Misuse: one is not a recipe, there is none, or two have one name.
    """
    named: dict[str, AnyRecipe] = {}
    for recipe in recipes:
        if not isinstance(recipe, Workflow):
            raise Misuse(f"{recipe!r} is not a recipe: decorate the function with @durable().")
        if recipe.name in named:
            raise Misuse(f"Two recipes are called {recipe.name}: give one another name.")
        named[recipe.name] = recipe
    if not named:
        raise Misuse("An engine without recipes has nothing to do: Engine(live(), recipe).")
    return named


def check_numbers(hold: object, concurrency: object) -> None:
    """Check the numbers that an engine is given.

    Raises:
        ValueError: one is out of its bounds.
    """
    if not isinstance(hold, int | float) or not hold >= 0:
        raise ValueError(f"hold={hold!r}: give seconds, 0 or more.")
    if concurrency is not None and (not isinstance(concurrency, int) or concurrency < 1):
        raise ValueError(f"concurrency={concurrency!r}: give a whole number, 1 or more, or None.")
