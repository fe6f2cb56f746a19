"""The engine: starts and performs durable runs with DBOS, on SQLite or PostgreSQL."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Callable, Mapping
from datetime import timedelta
from threading import Condition
from typing import Any, Generic, ParamSpec, TypeVar
from uuid import uuid4

from .._meaning.run_defaults import Defaults
from .._running.command_loops import AnyInterpreter, check_run
from .._words.commands import AsyncInterpreter, Interpreter, Misuse
from .._words.failure_classes import Stopped
from .._writing.programs import Program
from .codec import JSON, decode, encode
from .idempotency import current_command
from .store import (
    NewRun,
    Seal,
    Store,
    checked_id,
    encoded_failure,
    has_no_end,
    is_cancelled,
    is_stuck,
)
from .summaries import RunSummary, summaries, summary_of
from .worker import POLL, AnyWorkflow, Worker, check_no_worker
from .workflows import Workflow, fingerprint

A = TypeVar("A")
B = TypeVar("B")
E = TypeVar("E")
P = ParamSpec("P")

DATABASE = "sqlite:///ixbackoff.sqlite"
SEED_BITS = 53


class WorkflowHandle(Generic[A]):
    """A handle on a durable run; `run` and the `start` methods of `Engine` return it.

    Attributes:
        id: the id of the run, by which any process finds it.
    """

    def __init__(self, engine: Engine[Any], id: str) -> None:  # noqa: A002
        self._engine = engine
        self.id = id

    def result(self) -> A:
        """Wait for the value of the run, also while it is paused or stuck.

        Raises:
            Exception: the last failure of the run.
            Stopped: the run was cancelled.
            LookupError: the run was forgotten.
            Misuse: the engine was closed before the run ended, or a handler has called this method.
        """
        if current_command() is not None:
            raise Misuse(
                f"A handler that waits for run {self.id} holds a thread that the run may need: "
                "return the id, and let a later command, which is retried, ask whether it is over."
            )
        value: A
        while True:
            over, value = self._engine.result_so_far(self.id)
            if over:
                return value
            self._engine.wait_for_an_end()

    async def result_async(self) -> A:
        """Wait for the value of the run, as `result` does."""
        value: A
        while True:
            over, value = await asyncio.to_thread(self._engine.result_so_far, self.id)
            if over:
                return value
            await asyncio.to_thread(self._engine.wait_for_an_end)

    @property
    def summary(self) -> RunSummary:
        """The state of the run; raises LookupError if the run was forgotten."""
        found = summary_of(self._engine.store, self.id)
        if found is None:
            raise LookupError(f"There is no run {self.id}.")
        return found

    def pause(self) -> None:
        """Pause the run: it performs no further command until it is resumed."""
        self._engine.store.pause(self.id)

    def resume(self) -> bool:
        """Resume a run that is paused, stuck or has no recorded end; else return false."""
        return self._engine.store.resume(self.id)

    def cancel(self) -> None:
        """Cancel the run for good; if a process performs it, its `finally` blocks run."""
        self._engine.store.cancel(self.id)

    def __repr__(self) -> str:
        return f"<WorkflowHandle {self.id}>"


class Engine(Generic[E]):
    """An engine that runs workflows, and continues their runs after a crash.

    A run continues where it was: an answered command is not performed again, and a
    wait takes only its remaining seconds. At most one engine performs runs in a process, and at
    most one on a file of SQLite.

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
        interpreter: the handlers of the commands of all workflows. Those of an `AsyncInterpreter`
            run on an event loop of the engine, others in threads.
        workflows: the workflows whose runs this engine performs.
        database: the URL of the database that stores the runs.
        concurrency: the greatest number of runs of one workflow that an engine performs
            concurrently, not counting parked runs; by default there is no limit. If several engines
            share a server, the `concurrency` of the one that started last holds for all.
        hold: the seconds of the longest wait that a run spends in memory; during a longer wait the
            run is parked, which takes no memory.
        worker: whether to perform runs; `False` for a process that only starts them.
        keep: the time between the end of a run and its deletion; by default runs are kept.
        seal: a function that encrypts bytes and one that decrypts them, as a tuple. Arguments,
            commands, answers and failures pass through them on their way to the database and back.

    Raises:
        Misuse: the interpreter, the workflows or the URL are wrong, two workflows have the same
            name, another engine works in this process or on this file, a newer DBOS made the
            tables, or the database has rows that ixbackoff did not write, or is a file of another
            user.
        ValueError: `concurrency`, `hold` or `keep` has the wrong type, or is too small.
        ConnectionError: the database cannot be opened.
    """

    def __init__(
        self,
        interpreter: Interpreter[E] | AsyncInterpreter[E],
        *workflows: Workflow[..., Any, E, Any],
        database: str = DATABASE,
        concurrency: int | None = None,
        hold: float = 60.0,
        worker: bool = True,
        keep: timedelta | None = None,
        seal: Seal | None = None,
    ) -> None:
        check_interpreter(interpreter)
        self._interpreter: AnyInterpreter = interpreter
        self._workflows = by_name(workflows)
        check_numbers(hold, concurrency, keep)
        self._ended = Condition()
        self._process = os.getpid()
        self._closed = False
        self._worker: Worker | None = None
        if worker:
            check_no_worker()  # before the store: SQLite may hang in a forked process
        self.store = Store(database, seal)
        if worker:
            try:
                which = interpreter, self._workflows, self.store
                self._worker = Worker(*which, concurrency, hold, self._ended, keep)
            except BaseException:
                self.store.close()
                raise

    def __enter__(self) -> Engine[E]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop performing runs; another engine that has their workflows can continue them."""
        if self._closed or self._process != os.getpid():
            return
        self._closed = True
        if self._worker is not None:
            self._worker.close()
        self.store.close()

    def start(
        self, workflow: Workflow[P, A, E, Any], /, *args: P.args, **kwargs: P.kwargs
    ) -> WorkflowHandle[A]:
        """Start a run of a workflow with these arguments.

        Raises:
            Misuse: this engine is closed or lacks the workflow, or the program cannot be run.
            Unrecordable: an argument cannot be recorded.
        """
        return self.start_with_id(uuid4().hex, workflow, *args, **kwargs)

    def start_with_id(
        self,
        id: str,  # noqa: A002
        workflow: Workflow[P, A, E, Any],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> WorkflowHandle[A]:
        """Start a run with an id, or return the run that has this id.

        Raises:
            Misuse: as `start`; or the id is blank, has more than 200 characters, contains # or an
                unprintable character, or belongs to another workflow's run.
            Unrecordable: an argument cannot be recorded.
        """
        start = self._new_run(id, workflow, args, kwargs)
        self.store.enqueue_all([start])
        return self._handles([start])[0]

    def start_many(
        self, workflow: Callable[[B], Program[Any, Any, A, E]], arguments: Mapping[str, B], /
    ) -> list[WorkflowHandle[A]]:
        """Start a run for each id with its argument, as `start_with_id` does, in one transaction.

        Raises:
            Misuse: as `start_with_id`.
            Unrecordable: an argument cannot be recorded.
        """
        starts = [self._new_run(run, workflow, (given,), {}) for run, given in arguments.items()]
        self._handles(starts)  # check the ids before a run starts
        self.store.enqueue_all(starts)
        return self._handles(starts)

    def run(self, id: str) -> WorkflowHandle[Any]:  # noqa: A002
        """Return a handle on the run with this id, whichever process has started it.

        Raises:
            LookupError: no run in the database has this id.
        """
        handle = WorkflowHandle[Any](self, id)
        _ = handle.summary
        return handle

    def runs(self, limit: int = 20) -> list[RunSummary]:
        """Return summaries of the newest runs in the database, the newest first."""
        return summaries(self.store, limit)

    def _handles(self, starts: list[NewRun]) -> list[WorkflowHandle[Any]]:
        """Return the handles; raise Misuse if an id belongs to another workflow's run."""
        theirs = self.store.workflows([start.run for start in starts])
        for start in starts:
            name = theirs.get(start.run, start.workflow)
            if name != start.workflow:
                raise Misuse(
                    f"Run {start.run} is a run of the workflow {name}, not of {start.workflow}."
                )
        return [WorkflowHandle(self, start.run) for start in starts]

    def _new_run(
        self, run: str, workflow: object, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> NewRun:
        self._check_process()
        self._check_open(f"run {run} was not started")
        if not isinstance(workflow, Workflow) or self._workflows.get(workflow.name) is not workflow:
            raise Misuse(f"{workflow!r} is not a workflow of this engine: give it to Engine(...).")
        program, how = workflow.build(*args, **kwargs)
        timeless = Defaults(how.schedule, budget=how.budget)
        check_run(program, self._interpreter, Interpreter | AsyncInterpreter, timeless)
        given: dict[str, JSON] = {
            "args": self.store.sealed([encode(value) for value in args]),
            "kwargs": self.store.sealed({name: encode(one) for name, one in kwargs.items()}),
            "seed": random.getrandbits(SEED_BITS),
            "plan": fingerprint(program, how),
        }
        return NewRun(workflow.name, given, checked_id(run))

    def _check_process(self) -> None:
        if self._process != os.getpid():
            raise Misuse("This engine belongs to the process that made it: make another one here.")

    def _check_open(self, consequence: str) -> None:
        if self._closed:
            raise Misuse(f"This engine is closed, so {consequence}: make another one.")

    def result_so_far(self, run: str) -> tuple[bool, Any]:
        """Return whether a run is over, and its value; if it failed, raise its last failure."""
        self._check_process()
        status = self.store.last(run)
        if status is None:
            raise LookupError(f"There is no run {run}: it was forgotten.")
        if status.status == "SUCCESS" and "value" in (status.output or {}):
            return True, decode(self.store.opened((status.output or {})["value"]))
        if status.status == "ERROR" and not has_no_end(status) and not is_stuck(status):
            failure: BaseException = decode(self.store.opened(encoded_failure(status)))
            raise failure
        if status.status == "CANCELLED" and is_cancelled(status):
            raise Stopped(f"run {run} was cancelled")
        self._check_open(f"run {run} continues in the next engine")
        return False, None

    def wait_for_an_end(self) -> None:
        """Wait until a run of this process ends, for at most `POLL` seconds."""
        with self._ended:
            self._ended.wait(POLL)


def check_interpreter(interpreter: object) -> None:
    if not isinstance(interpreter, Interpreter | AsyncInterpreter):
        raise Misuse(
            f"Engine({interpreter!r}, ...): give an interpreter, and the workflows after it."
        )


def by_name(workflows: tuple[object, ...]) -> dict[str, AnyWorkflow]:
    named: dict[str, AnyWorkflow] = {}
    for workflow in workflows:
        if not isinstance(workflow, Workflow):
            raise Misuse(f"{workflow!r} is not a workflow: decorate the function with @durable().")
        if workflow.name in named:
            raise Misuse(f"Two workflows are called {workflow.name}: give them distinct names.")
        named[workflow.name] = workflow
    if not named:
        raise Misuse("An engine without workflows has nothing to do: Engine(live(), workflow).")
    return named


def check_numbers(hold: object, concurrency: object, keep: object) -> None:
    if keep is not None and not (isinstance(keep, timedelta) and keep >= timedelta(0)):
        raise ValueError(f"keep={keep!r}: give a timedelta, or None.")
    if not isinstance(hold, int | float) or not hold >= 0:
        raise ValueError(f"hold={hold!r}: give seconds, 0 or more.")
    if concurrency is not None and (not isinstance(concurrency, int) or concurrency < 1):
        raise ValueError(f"concurrency={concurrency!r}: give a whole number, 1 or more, or None.")
