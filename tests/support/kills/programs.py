"""The programs of durable runs that are killed, and the file that their handlers write.

Handlers tell an append-only file what is performed. Nothing else is believed by those who check it.
`python -m tests.support.kills.programs DATABASE HOLD` is a worker that performs what others begin.
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

from ixbackoff import (
    N1,
    N3,
    N5,
    Command,
    Constant,
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
from ixbackoff.durable import Engine, Workflow, current_command, durable
from ixbackoff.live import live

STORED = 6  # commands in a run that may be cancelled
SHORTEST, LONGEST = 0.01, 0.12  # seconds of a command, and of its handler after it


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


@dataclass(frozen=True)
class Tidy(Command[None]):
    job: str


Row = Prepare | Fetch | Store | Confirm | Tidy | Pick | Delay


class Performed(NamedTuple):
    """A line of the file.

    Attributes:
        time: seconds on a clock that goes on when a process dies.
        process: the process; one that has lost its lock is another from then on, `7+1` after `7`.
        what: "begin", "end" or "failed" for a command; "result" and "cancel" for a run; "killed",
            "stopped" and "continued" for a process, "joined" and "lost" for its lock.
        key: the run and the place of the command.
        again: whether it was told that it may have been performed before.
        said: the kind of the command, the result, or the worker that a process is.
    """

    time: float
    process: str
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
    """The file.

    Args:
        path: where it is.

    Attributes:
        lost: how often this process has lost its lock.
        here: for each thread, how often it had when it took the run that this thread performs.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lost = 0
        self.here = threading.local()

    @property
    def process(self) -> str:
        lost = getattr(self.here, "lost", self.lost)
        return f"{os.getpid()}+{lost}" if lost else str(os.getpid())

    def tell(
        self, what: str, key: str, again: bool = False, said: str = "-", process: str = ""
    ) -> None:
        line = f"{clock():.6f} {process or self.process} {what} {key} {int(again)} {said}\n"
        file = os.open(self.path, os.O_APPEND | os.O_CREAT | os.O_WRONLY)
        os.write(file, line.encode())
        os.close(file)

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def read(self) -> list[Performed]:
        if not self.path.exists():
            return []
        whole, _, _ = self.path.read_text().rpartition("\n")  # another process may be writing
        return [happened(line) for line in whole.splitlines()]

    def places(self, run: str, kind: str) -> set[str]:
        return {one.place for one in self.read() if one.run == run and one.said == kind}


def happened(line: str) -> Performed:
    at, process, what, key, again, said = line.split(" ", 5)
    return Performed(float(at), process, what, key, again == "1", said)


def telling(record: Record, answer: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Make a handler that writes to the file before and after `answer`, and lingers around that.

    Many processes die so after the effect of a command, and before it is in the journal.
    """

    def handler(command: Any) -> Any:
        mine = current_command()
        assert mine is not None
        about = (mine.place, mine.repeated, type(command).__name__, record.process)
        record.tell("begin", *about)
        linger()
        try:
            given = answer(command)
        except Exception:
            record.tell("failed", *about)
            linger()
            raise
        record.tell("end", *about)
        linger()
        return given

    return handler


def linger() -> None:
    time.sleep(random.uniform(SHORTEST, LONGEST))  # noqa: S311


def run_of_command() -> str:
    mine = current_command()
    assert mine is not None
    return mine.place.rpartition(":")[0]


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
        | Tidy.handled_by(telling(record, lambda _: None))
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


@attempt
def stored(job: str) -> Do[Store | Tidy, int]:
    size = 0
    try:
        for number in range(STORED):
            size += yield from Store(f"{job}{number}".encode())
    finally:
        yield from Tidy(job)
    return size


@durable(name="tidied", schedule=Constant(0.3))
def tidied(job: str) -> Program[N1, Z, int, Row]:
    """A wait, and then what cleans up, for runs that are cancelled."""
    return at(N1).do(do(Prepare(job))).wait().do(stored(job))


WORKFLOWS: dict[str, Workflow[..., Any, Any, Any]] = {
    "copy": copy,
    "together": together,
    "tidied": tidied,
}


def main(database: str, hold: str) -> None:
    record = Record(Path(os.environ["RECORD"]))
    with Engine(interpreter(record), *WORKFLOWS.values(), database=database, hold=float(hold)):
        print("ready", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
