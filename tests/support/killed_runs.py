"""Durable runs that are killed: `python -m tests.support.killed_runs DATABASE HOLD KIND RUN...`.

The process begins the runs, or goes on with those that it finds, and tells an append-only file,
which only handlers write, what is performed. Nothing else is believed by those who check it.
"""

from __future__ import annotations

import os
import random
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from ixbackoff import (
    N3,
    N5,
    Command,
    Delay,
    Do,
    Exponential,
    Interpreter,
    Pick,
    Program,
    Throttled,
    Z,
    all_of,
    at,
    attempt,
    do,
)
from ixbackoff.durable import Engine, asked, durable
from ixbackoff.durable.clocks import since_boot
from ixbackoff.durable.journal import Entry
from ixbackoff.durable.working import Stretch
from ixbackoff.live import live

FORGOTTEN = 0.05  # seconds after which a wait was begun by a process before
SHORTEST, LONGEST = 0.005, 0.04  # seconds of a command


@dataclass(frozen=True)
class Prepare(Command[str]):
    job: str


@dataclass(frozen=True)
class Fetch(Command[bytes]):
    token: str


@dataclass(frozen=True)
class Store(Command[int]):
    data: bytes


@dataclass(frozen=True)
class Confirm(Command[None]):
    size: int


Row = Prepare | Fetch | Store | Confirm | Pick | Delay


class Happened(NamedTuple):
    """A line of the file.

    Attributes:
        time: seconds on a clock that goes on when a process dies.
        process: the id of the process.
        what: "begin", "end" or "failed" for a command, "result" for the end of a run.
        key: the run and the place of the command.
        again: whether it was told that it may have been performed before.
        said: the kind of the command, or the result.
    """

    time: float
    process: int
    what: str
    key: str
    again: bool
    said: str

    @property
    def run(self) -> str:
        return self.key.rpartition(":")[0]

    @property
    def place(self) -> str:
        return self.key.rpartition(":")[2]


def clock() -> float:
    return time.clock_gettime(time.CLOCK_MONOTONIC)


class Record:
    """The file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def tell(self, what: str, key: str, again: bool, said: str) -> None:
        line = f"{clock():.6f} {os.getpid()} {what} {key} {int(again)} {said}\n"
        file = os.open(self.path, os.O_APPEND | os.O_CREAT | os.O_WRONLY)
        os.write(file, line.encode())
        os.close(file)

    def read(self) -> list[Happened]:
        if not self.path.exists():
            return []
        lines = [line.split(" ", 5) for line in self.path.read_text().splitlines()]
        return [
            Happened(float(at), int(process), what, key, again == "1", said)
            for at, process, what, key, again, said in lines
        ]

    def places(self, run: str, kind: str) -> set[str]:
        return {one.place for one in self.read() if one.run == run and one.said == kind}


def telling(record: Record, answer: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A handler that tells the file what it does."""

    def handler(command: Any) -> Any:
        mine = asked()
        assert mine is not None
        said = type(command).__name__
        record.tell("begin", mine.key, mine.again, said)
        time.sleep(random.uniform(SHORTEST, LONGEST))  # noqa: S311
        try:
            given = answer(command)
        except Exception:
            record.tell("failed", mine.key, mine.again, said)
            raise
        record.tell("end", mine.key, mine.again, said)
        return given

    return handler


def run_of_command() -> str:
    mine = asked()
    assert mine is not None
    return mine.key.rpartition(":")[0]


def interpreter(record: Record) -> Interpreter[Row]:
    """Handlers that fail at the first place where they are asked, however often."""

    def fetched(command: Fetch) -> bytes:
        places = record.places(run_of_command(), "Fetch")
        if len({place.partition("/")[0] for place in places}) <= 1:
            raise Throttled(0.35)
        return command.token.encode() * 3

    def confirmed(command: Confirm) -> None:
        if len(record.places(run_of_command(), "Confirm")) <= 1:
            raise ConnectionResetError(104, "reset")

    return (
        live()
        | Prepare.handled_by(telling(record, lambda command: f"token-{command.job}"))
        | Fetch.handled_by(telling(record, fetched))
        | Store.handled_by(telling(record, lambda command: len(command.data)))
        | Confirm.handled_by(telling(record, confirmed))
    )


@attempt
def fetch(job: str) -> Do[Prepare | Fetch, bytes]:
    token = yield from Prepare(job)
    data = yield from Fetch(token)
    return data


@attempt
def store(job: str, data: bytes) -> Do[Store | Pick | Confirm, tuple[str, int, int]]:
    size = yield from Store(data)
    die = yield from Pick(6)
    yield from Confirm(size)
    return job, size, die


@durable(name="copy", schedule=Exponential(0.2).jittered())
def copy(job: str) -> Program[N5, Z, tuple[str, int, int], Row]:
    """Two waits of a failed program and one of a well one, at least."""
    fetched = at(N5).do(fetch(job)).backoff().or_else(fetch(job)).wait()
    return fetched.bind(lambda data: at(N3).resume(store(job, data)))


@durable(name="together", schedule=Exponential(0.2))
def together(job: str) -> Program[N3, Z, list[bytes], Row]:
    """Three at the same time, and each twice."""
    return at(N3).retry(all_of([do(fetch(f"{job}{number}")) for number in range(3)]))


RECIPES = {"copy": copy, "together": together}


def forget(_: Stretch, entry: Entry) -> float:
    """The negative control: the rest of a wait is forgotten when its process dies."""
    begun = entry["boot_due"] - entry["seconds"]
    old = since_boot().seconds - begun > FORGOTTEN
    return 0.0 if old else float(entry["seconds"])


def main(database: str, hold: str, kind: str, runs: list[str]) -> None:
    if "FORGET" in os.environ:
        patch.object(Stretch, "left", forget).start()
    record = Record(Path(os.environ["RECORD"]))
    engine = Engine(interpreter(record), copy, together, database=database, hold=float(hold))
    print("ready", flush=True)
    if not runs:  # a worker, which performs what others have begun
        threading.Event().wait()
    begun: Any = [engine.start_as(run, RECIPES[kind], run) for run in runs]
    for run in begun:
        record.tell("result", f"{run.id}:end", False, repr(run.result()))
    engine.close()


if __name__ == "__main__":
    _, url, seconds, recipe, *names = sys.argv
    main(url, seconds, recipe, names)
