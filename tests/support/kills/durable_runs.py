"""Kill durable runs at random moments, and check the file that their handlers wrote.

`python -m tests.support.kills.durable_runs` does it for long, and `make kill` does that.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGSTOP, Signals
from typing import Any, NamedTuple, Self

import sqlalchemy

from ixbackoff.durable import Engine, WorkflowHandle
from ixbackoff.durable.server_pool import DRIVER
from ixbackoff.durable.store import Store
from ixbackoff.durable.worker_liveness import LOCKS, key_of

from ..servers.links import Link
from ..servers.postgresql import running
from .checks import CUT, SILENT, checked, waits_of
from .dying import CLOCK, LIVING, LOST, MOMENTS, Dies, Order
from .killing import Killing, Report, told
from .programs import WORKFLOWS, Record, interpreter

ROOT = Path(__file__).parents[3]
SEED = 1
MOST = 60  # kills until what is broken on purpose is found
LATE = 120.0  # seconds after which a process, or a run, should have come to its end
LONGEST = 1.5  # seconds to a kill
STARTING = 0.15  # seconds in which a process starts
STOPPED = [(0.0, 0.1), (0.0, 2.0), (2.0, 6.0)]  # seconds
DIES_WHILE_IT_BEGINS = 0.1  # the part of all transactions in which runs are begun
LOOK = 0.02  # seconds between two looks
SOON = 0.3  # seconds from a line in the file to a kill
SILENTLY = 0.3  # the share of cut networks that only let nothing through


class Nursery:
    """The process that forks the processes that are killed."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.kills.dying"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, question: Any) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def begin(self, order: Order) -> Child:
        return Child(self, self.ask(order), order)

    def close(self) -> None:
        """End the process: it ends when its standard input does."""
        self.process.communicate()


class Child:
    """A process that performs runs.

    Attributes:
        id: its id; no other process has it before `ended` has returned true.
        code: its exit code, once it has ended.
    """

    def __init__(self, nursery: Nursery, id: int, order: Order) -> None:  # noqa: A002
        self.nursery = nursery
        self.id = id
        self.order = order
        self.code: int | None = None
        self.link: Link | None = None

    def ended(self, look: bool = True) -> bool:
        """Return true if the process has ended; wait for its end unless `look`."""
        if self.code is None:
            self.code = self.nursery.ask({"process": self.id, "look": look})
        return self.code is not None

    def send(self, what: Signals) -> None:
        os.kill(self.id, what)


@dataclass
class KillingRuns(Killing):
    """Kills processes that perform runs, until all runs have ended.

    Args:
        kind: the workflow.
        hold: waits of more seconds are parked.
        control: a promise that is broken on purpose, a name in `dying.CONTROLS`.
        database: a PostgreSQL server; by default a file in the folder.
        clocks: the seconds by which the clocks of the processes are ahead, in turns.
        linked: whether each process has a network of its own, which can be cut.
    """

    kind: str
    hold: float
    control: str = ""
    database: str = ""
    clocks: tuple[float, ...] = (0.0,)
    linked: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.record = Record(self.folder / "record")
        self.database = self.database or f"sqlite:///{self.folder}/runs.sqlite"
        self.nursery = Nursery()
        self.batch = 0
        self.kills = 0
        self.stops = 0
        self.turns = cycle(self.clocks)
        self.links: list[Link] = []
        self.halves: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.nursery.close()
        for link in self.links:
            link.close()

    @contextmanager
    def store(self) -> Generator[Store]:
        store = Store(self.database)
        yield store
        store.close()

    def begin(self, runs: list[str], kill: bool, bulk: bool = False) -> Child:
        """Start a process; half of those to be killed kill themselves, at a chosen moment."""
        dies = None
        if kill and self.chance.random() < 0.5:
            moment = self.chance.choice([*MOMENTS])
            number = self.chance.randint(1, 6 if moment == "record" else 2)
            dies = Dies(moment, number, self.chance.random() < 0.5)
        link, database = None, self.database
        if self.linked:
            url = sqlalchemy.make_url(database)
            assert url.port is not None
            link = Link(url.port)
            self.links.append(link)
            database = url.set(port=link.port).render_as_string(hide_password=False)
        child = self.nursery.begin(
            Order(
                *(str(self.folder), database, self.hold, self.kind, runs, bulk),
                *(dies, self.control, next(self.turns)),
            )
        )
        child.link = link
        return child

    def kill(self, child: Child) -> bool:
        """Wait for a moment, then kill; return true unless the process had come to its end."""
        self.wait_for_a_moment(child)
        if not child.ended():
            child.send(SIGKILL)
            self.record.tell("killed", "-:-", process=str(child.id))
            child.ended(look=False)
        return child.code == -SIGKILL

    def wait_for_a_moment(self, child: Child) -> None:
        """Wait for a moment of its start, after a line in its file, or at any time."""
        kind = self.chance.choice(["starts", "performs", "performs", "any"])
        if child.order.dies is not None:
            kind = "any"
        while kind != "starts" and not self.joined(child) and not child.ended():
            time.sleep(LOOK)
        end = time.monotonic() + self.chance.uniform(0, STARTING if kind == "starts" else LONGEST)
        size = self.record.size
        while time.monotonic() < end and not child.ended():
            time.sleep(LOOK)
            if kind == "performs" and self.record.size > size:
                kind, end = "soon", time.monotonic() + self.chance.uniform(0, SOON)

    def joined(self, child: Child) -> bool:
        """Return true if a process has begun to perform runs."""
        process = str(child.id)
        return any(one.what == "joined" and one.process == process for one in self.record.read())

    def until(self, kills: int, at_a_time: int) -> Report:
        """Start `at_a_time` runs after another until their processes were killed `kills` times."""
        while self.kills < kills:
            self.batch += 1
            runs = [f"{self.kind}-{self.batch}-{number}" for number in range(at_a_time)]
            while not self.finished(runs, self.kills < kills, bulk=self.batch % 2 == 0):
                pass
        return self.checked()

    def until_found(self, what: str, kills: int, at_a_time: int) -> Report:
        """Repeat `until` up to a broken promise with `what` in its sentence, or to `MOST` kills."""
        while True:
            report = self.until(self.kills + kills, at_a_time)
            if any(what in broken for broken in report.broken) or self.kills >= MOST:
                return report

    def finished(self, runs: list[str], kill: bool, bulk: bool) -> bool:
        """Perform runs in a process; return true if it came to its end."""
        child = self.begin(runs, kill, bulk)
        if kill and self.kill(child):
            self.kills += 1
            if bulk:
                self.check_begun(runs)
            return False
        end = time.monotonic() + LATE
        while not child.ended():
            assert time.monotonic() < end, f"{runs} do not end"
            time.sleep(LOOK)
        assert child.code == 0, (self.folder / "errors").read_text()[-3000:]
        return True

    def check_begun(self, runs: list[str]) -> None:
        """Of runs that are started in one transaction, none exists, or all do."""
        with self.store() as store:
            begun = sum(store.last(run) is not None for run in runs)
        if begun not in (0, len(runs)):
            self.halves.append(f"{begun} of {len(runs)} runs were begun in one transaction")

    def checked(self) -> Report:
        """Check the file; of the database only the seeds of the runs are read."""
        happened = self.record.read()
        with self.store() as store:
            runs = {one.run for one in happened if one.what == "result"}
            seeds: dict[str, Any] = {run: store.given(run)["seed"] for run in runs}
        waits = {run: waits_of(self.kind, run, seed) for run, seed in seeds.items()}
        report = checked(happened, waits, self.hold)
        report.broken += self.halves
        return report

    def among_workers(
        self,
        kills: int,
        workers: int,
        at_a_time: int = 1,
        stops: float = 0.0,
        cancels: float = 0.0,
    ) -> Report:
        """Let workers perform runs, and kill one after another.

        Args:
            kills: the number of kills and stops.
            workers: the number of workers at any time.
            at_a_time: the number of runs that are started before each kill.
            stops: the share of kills that only stop a worker: it loses its lock, and continues
                when others have its runs. If the processes are linked, the network is cut.
            cancels: the share of the runs that are cancelled.
        """
        client = Engine(
            interpreter(self.record), *WORKFLOWS.values(), database=self.database, worker=False
        )
        living = [self.begin([], kill=True) for _ in range(workers)]
        runs: list[WorkflowHandle[Any]] = []
        try:
            while self.kills + self.stops < kills:
                runs += self.started(client, len(runs), at_a_time)
                if self.chance.random() < cancels:
                    time.sleep(self.chance.uniform(0, LONGEST))
                    client.store.cancel(runs[-1].id)
                    self.record.tell("cancel", f"{runs[-1].id}:end")
                if self.chance.random() < stops:
                    self.stop(living)
                else:
                    child = living.pop(self.chance.randrange(workers))
                    self.kills += self.kill(child)
                    living.append(self.begin([], kill=True))
                for dead in [one for one in living if one.ended()]:
                    self.kills += dead.code == -SIGKILL
                    living[living.index(dead)] = self.begin([], kill=True)
            for child in [one for one in living if one.order.dies is not None]:
                self.kills += self.kill(child)
                living[living.index(child)] = self.begin([], kill=False)
            self.finish(runs)
        finally:
            client.close()
            for child in living:
                if not child.ended():
                    child.send(SIGKILL)
                    child.ended(look=False)
        return self.checked()

    def started(
        self, client: Engine[Any], number: int, at_a_time: int
    ) -> list[WorkflowHandle[Any]]:
        """Start runs in one transaction, sometimes after a process that died while it did so."""
        runs = [f"{self.kind}-{number + each}" for each in range(at_a_time)]
        if self.chance.random() < DIES_WHILE_IT_BEGINS:
            dies = Dies("start in bulk", self.chance.randint(1, at_a_time), True)
            where = (str(self.folder), self.database, self.hold, self.kind)
            child = self.nursery.begin(Order(*where, runs, True, dies))
            child.ended(look=False)
            self.kills += child.code == -SIGKILL
            self.check_begun(runs)
        workflow: Any = WORKFLOWS[self.kind]
        return client.start_many(workflow, {run: run for run in runs})

    def finish(self, runs: list[WorkflowHandle[Any]]) -> None:
        """Wait for all results, and write them to the file."""
        end = time.monotonic() + LATE
        for run in runs:
            while True:
                try:
                    over, value = run._engine.result_so_far(run.id)
                except Exception as failure:
                    over, value = True, failure
                if over:
                    break
                assert time.monotonic() < end, f"{run} does not end"
                time.sleep(5 * LOOK)
            self.record.tell("result", f"{run.id}:end", said=repr(value))

    def stop(self, living: list[Child]) -> None:
        """Stop a worker in a command, take its lock, and let it continue once others take over."""
        size, end = self.record.size, time.monotonic() + LONGEST
        while self.record.size == size and time.monotonic() < end:
            time.sleep(0.001)
        told = self.record.read()
        by_process = {str(child.id): child for child in living}
        gone = {one.process for one in told if one.what == "stopped" and one.said != SILENT}
        last = [one.process for one in told if one.what == "begin" and one.process not in gone]
        process = last[-1] if last else ""
        if process.partition("+")[0] not in by_process:
            return
        child = by_process[process.partition("+")[0]]
        time.sleep(self.chance.uniform(0, SOON))
        joined = [x for x in told if x.what == "joined" and x.process == process]
        if child.ended() or not joined:  # it may perform runs a moment before it tells that
            return
        self.stops += 1
        if child.link is None:
            child.send(SIGSTOP)
            self.record.tell("stopped", "-:-", process=process)
            self.take_lock(joined[-1].said)
        else:
            silently = self.chance.random() < SILENTLY
            self.record.tell("stopped", "-:-", said=SILENT if silently else CUT, process=process)
            child.link.cut(silently)
        time.sleep(self.chance.uniform(*self.chance.choice(STOPPED)))
        self.record.tell("continued", "-:-", process=process)
        if child.link is None:
            child.send(SIGCONT)
        else:
            child.link.mend()

    def take_lock(self, worker: str) -> None:
        """End the session that holds the lock of a worker."""
        engine = sqlalchemy.create_engine(sqlalchemy.make_url(self.database).set(drivername=DRIVER))
        ended = sqlalchemy.text(
            "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' "
            "and granted and classid = :kind and objid = :key"
        )
        with engine.begin() as connection:
            connection.execute(ended, {"kind": LOCKS, "key": key_of(worker) % 2**32})
        engine.dispose()


HELD, PARKED, MIXED = 60.0, 0.1, 0.6  # seconds; mixed, some waits of a run are held
WORKERS = 3
HOUR = 3600.0
CLOCKS = (-HOUR, 0.0, HOUR)


class Part(NamedTuple):
    """A part of what `make kill` does.

    Attributes:
        name: its name.
        kind: the workflow.
        hold: the longest wait that is held.
        kills: the number of kills.
        at_a_time: the number of runs at the same time, or started before each kill.
        stops: the share of the kills that only stop a process.
        cancels: the share of the runs that are cancelled.
        control: the promise that is broken on purpose.
        clocks: as those of `KillingRuns`.
        linked: likewise.
    """

    name: str
    kind: str
    hold: float
    kills: int
    at_a_time: int
    stops: float = 0.0
    cancels: float = 0.0
    control: str = ""
    clocks: tuple[float, ...] = (0.0,)
    linked: bool = False

    def on_file(self) -> Report:
        with (
            tempfile.TemporaryDirectory() as folder,
            KillingRuns(Path(folder), SEED, self.kind, self.hold, self.control) as killing,
        ):
            if self.cancels:
                return killing.among_workers(self.kills, 1, self.at_a_time, cancels=self.cancels)
            if self.control:
                return killing.until_found(FOUND[self.control], self.kills, self.at_a_time)
            return killing.until(self.kills, self.at_a_time)

    def on_server(self) -> Report:
        with running(max_connections="120") as server:
            url = f"postgresql://{server.address.rpartition('/')[0]}/runs"
            return self.among_workers(url)

    def among_workers(self, url: str) -> Report:
        with (
            tempfile.TemporaryDirectory() as folder,
            KillingRuns(
                *(Path(folder), SEED, self.kind, self.hold, self.control, url),
                *(self.clocks, self.linked),
            ) as killing,
        ):
            return killing.among_workers(
                self.kills, WORKERS, self.at_a_time, self.stops, self.cancels
            )

    def told(self, kill: Callable[[], Report]) -> bool:
        return told(self.name, kill, FOUND.get(self.control))


ON_FILE = [
    Part("SQLite, waits held", "copy", HELD, 200, 5),
    Part("SQLite, waits parked", "copy", PARKED, 100, 5),
    Part("SQLite, all_of", "together", HELD, 40, 3),
    Part("SQLite, some cancelled", "tidied", MIXED, 40, 1, cancels=0.8),
]
ON_SERVER = [
    Part("PostgreSQL, clocks an hour apart", "copy", MIXED, 100, 3, clocks=CLOCKS),
    Part("PostgreSQL, the network cut", "copy", MIXED, 100, 3, stops=1.0, linked=True),
    Part("PostgreSQL, all_of", "together", MIXED, 40, 2),
    Part("PostgreSQL, some cancelled", "tidied", PARKED, 40, 1, cancels=0.8),
    Part("PostgreSQL, some only stopped", "copy", MIXED, 60, 3, stops=0.7),
]
FOUND = {
    "the rest of a wait is forgotten": " s of ",
    "an answered command is asked again": "and asked again",
    "repeated is not set": "without `repeated`",
    LIVING: " is alive",
    CLOCK: " s of ",
    LOST: " is alive",
}
"""Words of the sentence that is found for each promise that is broken on purpose."""

BROKEN_ON_FILE = [
    Part(f"Broken on purpose: {control}", "copy", HELD, 5, 5, control=control)
    for control in FOUND
    if control not in (LIVING, CLOCK, LOST)
]
BROKEN_ON_SERVER = [
    Part(f"Broken on purpose: {LIVING}", "copy", HELD, 5, 3, control=LIVING),
    Part(f"Broken on purpose: {CLOCK}", "copy", PARKED, 9, 3, control=CLOCK),
    Part(f"Broken on purpose: {LOST}", "copy", HELD, 9, 3, 1.0, control=LOST, linked=True),
]


def main() -> int:
    """Kill on files and on servers, both at the same time."""

    def on_files() -> list[bool]:
        return [part.told(part.on_file) for part in ON_FILE + BROKEN_ON_FILE]

    def on_servers() -> list[bool]:
        return [part.told(part.on_server) for part in ON_SERVER + BROKEN_ON_SERVER]

    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(on_files), pool.submit(on_servers)]
        well = [each for one in both for each in one.result()]
    return 0 if all(well) else 1


if __name__ == "__main__":
    sys.exit(main())
