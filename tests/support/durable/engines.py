"""Engines for tests: durable runs in this process, on a file of SQLite."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from dbos import _workflow_commands

from ixbackoff import N1, AsyncInterpreter, Command, Constant, Interpreter, at, attempt
from ixbackoff.durable import CurrentCommand, Engine, Workflow, current_command, durable
from ixbackoff.durable import engine as engine_module
from ixbackoff.durable import worker as worker_module
from ixbackoff.durable.summaries import summary_of
from ixbackoff.live import live

AnyEngine = Engine[Any]
SOON = 10.0  # seconds
MOMENT = 0.05  # seconds


def url_in(folder: Path) -> str:
    return f"sqlite:///{folder}/runs.sqlite"


@contextmanager
def looking_often() -> Generator[None]:
    """Let engines that begin in the block look for runs, results and due waits every 50 ms.

    A user's engine looks for runs and results ten times a second, and for due waits once.
    """
    with (
        patch.object(worker_module, "POLL", MOMENT),
        patch.object(engine_module, "POLL", MOMENT),
        patch.object(_workflow_commands, "_BACKGROUND_JOBS_INTERVAL_SEC", MOMENT),
    ):
        yield


@contextmanager
def working(
    folder: Path,
    interpreter: Interpreter[Any] | AsyncInterpreter[Any],
    *workflows: Workflow[..., Any, Any, Any],
    **settings: Any,
) -> Generator[AnyEngine]:
    """An engine that performs runs while the block lasts, and then leaves them where they are."""
    with (
        looking_often(),
        Engine(interpreter, *workflows, database=url_in(folder), **settings) as engine,
    ):
        yield engine


def until(condition: Callable[[], Any], seconds: float = SOON) -> Any:
    """Wait until a condition holds; return what it returned."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.01)
    return found


def stuck(engine: AnyEngine, run: str) -> str:
    """Wait until a run is stuck; return why it is."""

    def why() -> str:
        summary = summary_of(engine.store, run)
        return summary.state if summary is not None and summary.state.startswith("stuck") else ""

    found: str = until(why)
    return found


@dataclass(frozen=True)
class Say(Command[Any]):
    """A command whose handler is a table of functions by name."""

    what: str


class Said:
    """The handler of `Say`: it keeps what was said, and does what a table says."""

    def __init__(self, **table: Callable[[], Any]) -> None:
        self.table = table
        self.asked: list[tuple[str, CurrentCommand | None]] = []

    def __call__(self, command: Say) -> Any:
        self.asked.append((command.what, current_command()))
        return self.table.get(command.what, lambda: command.what.upper())()

    @property
    def what(self) -> list[str]:
        return [what for what, _ in self.asked]

    def reaches(self, number: int) -> bool:
        return len(self.asked) >= number

    @property
    def places(self) -> list[tuple[str, str, bool]]:
        """What was said, where in the run, and whether perhaps again."""
        return [(what, mine.place, mine.repeated) for what, mine in self.asked if mine is not None]

    @property
    def interpreter(self) -> Any:
        return live() | Say.handled_by(self)


def fails(*failures: Exception | Any) -> Callable[[], Any]:
    """Do one of these after the other: raise it, or answer it; the last one again and again."""
    left = list(failures)

    def next_one() -> Any:
        outcome = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return next_one


@attempt
def two() -> Any:
    yield from Say("first")
    return (yield from Say("second"))


@durable(name="both", schedule=Constant(0.1))
def both() -> Any:
    return at(N1).retry(two())
