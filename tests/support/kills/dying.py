"""Processes that perform durable runs and die: `python -m tests.support.kills.dying`.

It reads orders, one a line, and parts from a process for each, since that is quicker than to begin
one anew. It waits for a process only when it is told to, so that until then no other process has
the same id.
"""

from __future__ import annotations

import json
import logging
import os
import random
import sys
import threading
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from signal import SIGKILL
from typing import Any, NamedTuple
from unittest.mock import patch

from dbos import DBOS, DBOSClient
from dbos._sys_db import SystemDatabase

from ixbackoff._running.boot_clock import Boot, since_boot
from ixbackoff.durable import Engine, clocks
from ixbackoff.durable.dbos_journal import Held, SegmentJournal
from ixbackoff.durable.journal import Entry, Line
from ixbackoff.durable.store import Store
from ixbackoff.durable.worker import Worker
from ixbackoff.durable.worker_liveness import ServerLock

from .programs import WORKFLOWS, Record, interpreter

SET = (0.0, 5.0)  # seconds
FORGOTTEN = 0.05  # seconds after which a wait was begun by a process before

MOMENTS: dict[str, tuple[Any, str]] = {
    "start": (DBOS, "launch"),
    "start in bulk": (DBOSClient, "enqueue_in_transaction"),
    "record": (SystemDatabase, "record_operation_result"),
    "end": (SystemDatabase, "update_workflow_outcome"),
    "park": (Store, "park"),
    "take-over": (Store, "enqueue_again"),
}
"""What a process does when it may kill itself, just before that or just after."""


class Dies(NamedTuple):
    """When a process kills itself.

    Attributes:
        moment: a name in `MOMENTS`.
        number: it does at the first such moment (1), or at a later one.
        before: true if it does just before, false if just after.
    """

    moment: str
    number: int
    before: bool


class Order(NamedTuple):
    """What a process is to do.

    Attributes:
        folder: where the file is that handlers write.
        database: the URL of the database.
        hold: waits of more seconds are parked.
        kind: the workflow of the runs.
        runs: the runs that it begins, and waits for; if there are none, it performs what others
            have begun.
        bulk: true if it begins them in one transaction.
        dies: when it kills itself, if it does.
        control: the promise that it breaks, a name in `CONTROLS`.
        shift: the seconds by which its clock is ahead.
    """

    folder: str
    database: str
    hold: float
    kind: str
    runs: list[str]
    bulk: bool = False
    dies: Dies | None = None
    control: str = ""
    shift: float = 0.0


def forget(_: SegmentJournal, entry: Entry) -> float:
    """Forget the rest of a wait when its process dies."""
    begun = entry["boot_due"] - entry["seconds"]
    old = since_boot().seconds - begun > FORGOTTEN
    return 0.0 if old else float(entry["seconds"])


def ask_again() -> None:
    """Forget the last answer when a process dies."""
    whole = SegmentJournal.loaded

    async def loaded(worker: Worker, start: Any, number: int, held: Held) -> SegmentJournal:
        made = await whole(worker, start, number, held)
        answered = [at for at, entry in made.entries.items() if "a" in entry or "f" in entry]
        if made.resumed and answered:
            del made.entries[max(answered, key=lambda at: int(at.partition("/")[0]))]
        return made

    patch.object(SegmentJournal, "loaded", loaded).start()


def take_over(lock: ServerLock, other: str) -> bool:
    """Take the runs of a worker over, though it lives."""
    return lock._store.enqueue_again(other) > 0


def believe_the_clock() -> None:
    """Let workers believe clocks that are set back and forth."""

    def now(_: ServerLock) -> float:
        return time.time() - random.choice(SET)  # noqa: S311

    patch.object(ServerLock, "now", now).start()
    patch.object(clocks, "since_boot", lambda: Boot("", 0.0)).start()


def keep_on() -> None:
    """Let a worker work whose lock is lost."""
    patch.object(ServerLock, "has_lock", lambda _: True).start()
    patch.object(ServerLock, "_watch_itself", lambda *_: None).start()


LIVING = "the living are taken over"
CLOCK = "a clock that is set is believed"
LOST = "a lost lock is not noticed"
CONTROLS: dict[str, Callable[[], Any]] = {
    "the rest of a wait is forgotten": patch.object(SegmentJournal, "left", forget).start,
    "an answered command is asked again": ask_again,
    "repeated is not set": patch.object(Line, "first_again", lambda _: False).start,
    LIVING: patch.object(ServerLock, "_is_free", take_over).start,
    CLOCK: believe_the_clock,
    LOST: keep_on,
}
"""Promises that are broken on purpose, so that it is seen whether that is found."""


def prepare_to_die(dies: Dies, record: Record) -> None:
    owner, name = MOMENTS[dies.moment]
    usual = getattr(owner, name)
    numbers = count(1)

    def moment(*args: Any, **kwargs: Any) -> Any:
        mine = next(numbers) == dies.number
        if mine and dies.before:
            die(record)
        answer = usual(*args, **kwargs)
        if mine:
            die(record)
        return answer

    patch.object(owner, name, moment).start()


def die(record: Record) -> None:
    record.tell("killed", "-:-")
    os.kill(os.getpid(), SIGKILL)


class Watching(logging.Handler):
    """Tells the file that a process has lost its lock."""

    def __init__(self, record: Record) -> None:
        super().__init__()
        self.record = record

    def emit(self, entry: logging.LogRecord) -> None:
        if "has lost its lock" in entry.msg:
            self.record.tell("lost", "-:-")
            self.record.lost += 1


def tell_of_locks(record: Record) -> None:
    logging.getLogger("ixbackoff").addHandler(Watching(record))
    usual = Worker.launch

    def launch(worker: Worker) -> None:
        usual(worker)
        record.tell("joined", "-:-", said=worker.lock.id)

    patch.object(Worker, "launch", launch).start()
    usually_sure = SegmentJournal.sure

    def sure(segment: SegmentJournal) -> bool:
        record.here.lost = segment.held.generation
        return usually_sure(segment)

    patch.object(SegmentJournal, "sure", sure).start()


def perform(order: Order) -> None:
    """Do what is ordered, in a process of its own."""
    record = Record(Path(order.folder) / "record")
    usual = time.time
    patch.object(time, "time", lambda: usual() + order.shift).start()
    if order.control:
        CONTROLS[order.control]()
    if order.dies is not None:
        prepare_to_die(Dies(*order.dies), record)
    tell_of_locks(record)
    with Engine(
        interpreter(record), *WORKFLOWS.values(), database=order.database, hold=order.hold
    ) as engine:
        if not order.runs:
            threading.Event().wait()
        for run in begun(engine, order):
            record.tell("result", f"{run.id}:end", said=repr(run.result()))


def begun(engine: Engine[Any], order: Order) -> list[Any]:
    workflow: Any = WORKFLOWS[order.kind]
    if order.bulk:
        return engine.start_many(workflow, {run: run for run in order.runs})
    return [engine.start_with_id(run, workflow, run) for run in order.runs]


def part(order: Order) -> int:
    """Begin a process that does what is ordered; return its id."""
    process = os.fork()
    if process:
        return process
    try:
        errors = os.open(
            Path(order.folder) / "errors", os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o600
        )
        os.dup2(os.open(os.devnull, os.O_RDWR), 0)
        os.dup2(errors, 1)
        os.dup2(errors, 2)
        perform(order)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        os._exit(1)
    os._exit(0)


def main() -> None:
    """Answer each line on standard input: an order with a process, a process with its end."""
    for line in sys.stdin:
        asked = json.loads(line)
        if isinstance(asked, list):
            answer: int | None = part(Order(*asked))
        else:
            process, status = os.waitpid(asked["process"], os.WNOHANG if asked["look"] else 0)
            answer = os.waitstatus_to_exitcode(status) if process else None
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
