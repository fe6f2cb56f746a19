"""Killing durable runs at random moments, and checking what their handlers have told a file.

`python -m tests.support.killing` does it for long, and `make kill` does that.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from signal import SIGKILL
from typing import Any

from ixbackoff.durable import Engine, Run
from ixbackoff.durable.journal import Entry
from ixbackoff.durable.store import Store

from .killed_runs import RECIPES, Happened, Record, clock, copy, interpreter, together
from .postgresql import running

ROOT = Path(__file__).parents[2]
EARLY = 0.1  # the part of all kills that may come while the process starts
LONGEST = 1.2  # seconds from its start to a kill


@dataclass
class Report:
    """What was found: counts, and each broken promise as a sentence."""

    runs: int = 0
    kills: int = 0
    performed: int = 0
    repeats: int = 0
    waits: int = 0
    killed_waits: int = 0
    broken: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        counts = (
            f"{self.kills} kills, {self.runs} runs, {self.performed} commands performed, "
            f"{self.repeats} of them again, {self.waits} waits, {self.killed_waits} with a kill "
            "in them"
        )
        return "\n".join([counts, *self.broken, "as promised" if not self.broken else "BROKEN"])


class Killing:
    """Kills processes that perform runs in a folder, until all runs have ended.

    Args:
        folder: where the database is, and the file that handlers write.
        kind: the recipe.
        hold: waits of more seconds are parked.
        seed: the kills come at the moments that it decides.
        forget: true for the negative control, in which the rest of a wait is forgotten.
        database: a PostgreSQL server; by default a file in the folder.
    """

    def __init__(
        self,
        folder: Path,
        kind: str,
        hold: float,
        seed: int,
        forget: bool = False,
        database: str = "",
    ) -> None:
        mine = {"RECORD": str(folder / "record")}
        self.environment = os.environ | mine | ({"FORGET": "1"} if forget else {})
        self.folder = folder
        self.database = database or f"sqlite:///{folder}/runs.sqlite"
        self.kind = kind
        self.hold = hold
        self.chance = random.Random(seed)  # noqa: S311
        self.kills: list[tuple[float, int]] = []

    def until(self, kills: int, at_a_time: int) -> Report:
        """Begin runs, so many at a time, and kill their processes so many times."""
        batch = 0
        while len(self.kills) < kills:
            batch += 1
            runs = [f"{self.kind}-{batch}-{number}" for number in range(at_a_time)]
            while not self.finished(runs, kill=len(self.kills) < kills):
                pass
        return self.checked()

    def among_workers(self, kills: int, workers: int) -> Report:
        """Let several workers perform runs, one more for each kill, and kill one after another."""
        record = Record(self.folder / "record")
        client = Engine(interpreter(record), copy, together, database=self.database, worker=False)
        living = [self.worker() for _ in range(workers)]
        try:
            runs: list[Run[Any]] = []
            for number in range(kills):
                run = f"{self.kind}-{number}"
                runs.append(client.start_as(run, RECIPES[self.kind], run))
                time.sleep(self.chance.uniform(0.2, LONGEST))
                process = living.pop(self.chance.randrange(workers))
                process.send_signal(SIGKILL)
                self.kills.append((clock(), process.pid))
                process.wait()
                living.append(self.worker())
            for one in runs:
                record.tell("result", f"{one.id}:end", False, repr(one.result()))
        finally:
            client.close()
            for process in living:
                process.kill()
                process.wait()
        return self.checked()

    def worker(self) -> subprocess.Popen[str]:
        """Begin a process that performs what others have begun."""
        return self.begun([])

    def begun(self, runs: list[str]) -> subprocess.Popen[str]:
        words = [self.database, str(self.hold), self.kind, *runs]
        return subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "tests.support.killed_runs", *words],
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def finished(self, runs: list[str], kill: bool) -> bool:
        """Perform runs in a process; return true if it came to its end."""
        process = self.begun(runs)
        with process:
            if kill:
                if self.chance.random() >= EARLY and process.stdout is not None:
                    process.stdout.readline()
                time.sleep(self.chance.uniform(0, LONGEST))
                if process.poll() is None:
                    process.send_signal(SIGKILL)
                    moment = clock()
                    process.wait()
                    self.kills.append((moment, process.pid))
                    return False
            assert process.wait(timeout=120) == 0
        return True

    def checked(self) -> Report:
        """Read the file, and compare it with what was promised."""
        report = Report(kills=len(self.kills))
        store = Store(self.database)
        told: dict[str, list[Happened]] = defaultdict(list)
        for one in Record(self.folder / "record").read():
            told[one.run].append(one)
        for run, happened in told.items():
            report.runs += 1
            entries = {
                entry["at"]: entry
                for stretch in store.stretches(run)
                for _, entry in store.steps(stretch.workflow_id)
                if entry is not None
            }
            self.check_commands(report, run, happened)
            self.check_waits(report, run, happened, entries)
            self.check_result(report, run, happened)
        store.close()
        return report

    def died(self, happened: list[Happened]) -> int:
        """How many processes were killed while a run went on."""
        first, last = happened[0].time, happened[-1].time
        return sum(first <= moment <= last for moment, _ in self.kills)

    def check_commands(self, report: Report, run: str, happened: list[Happened]) -> None:
        places: dict[str, list[Happened]] = defaultdict(list)
        for one in happened:
            if one.what != "result":
                places[one.place].append(one)
        dead = {process: moment for moment, process in self.kills}
        again = 0
        for place, told in places.items():
            begun = [one for one in told if one.what == "begin"]
            report.performed += len(begun)
            again += len(begun) - 1
            if len({one.process for one in begun}) < len(begun):
                report.broken.append(f"{run}:{place} was performed twice by one process")
            if any(not one.again for one in begun[1:]):
                report.broken.append(f"{run}:{place} was performed again, and not told so")
            for one, following in pairwise(begun):
                ends = [x.time for x in told if x.process == one.process and x.what != "begin"]
                if following.time < min([*ends, dead.get(one.process, 0.0)]):
                    report.broken.append(f"{run}:{place} was performed by two at one time")
        report.repeats += again
        branches = 3 if any("/" in place for place in places) else 1
        if again > branches * self.died(happened):
            report.broken.append(f"{run} repeated {again} commands")

    def check_waits(
        self, report: Report, run: str, happened: list[Happened], entries: dict[str, Entry]
    ) -> None:
        """Between the command before a wait and the one after it there are its seconds."""
        floor = 0.0
        lines = sorted(
            (int(place), entry["seconds"])
            for place, entry in entries.items()
            if place.isdecimal() and "seconds" in entry
        )
        for place, seconds in lines:
            report.waits += 1
            if seconds < floor:
                report.broken.append(f"{run}:{place}: a wait is shorter than the one before")
            floor = seconds
            before = [one.time for one in happened if number(one) < place]
            after = [one.time for one in happened if number(one) > place and one.what == "begin"]
            waited = min(after) - max(before)
            report.killed_waits += any(max(before) < m < min(after) for m, _ in self.kills)
            if waited < seconds:
                report.broken.append(f"{run}:{place}: {waited:.3f} s of {seconds:.3f} s")

    def check_result(self, report: Report, run: str, happened: list[Happened]) -> None:
        results = {one.said for one in happened if one.what == "result"}
        if len(results) != 1:
            report.broken.append(f"{run} has the results {results}")
            return
        result = eval(results.pop(), {})  # noqa: S307
        if self.kind == "together":
            right = result == [f"token-{run}{number}".encode() * 3 for number in range(3)]
        else:
            right = result[:2] == (run, 3 * len(f"token-{run}")) and result[2] in range(6)
        if not right:
            report.broken.append(f"{run} has the result {result}")


def number(one: Happened) -> int:
    """The number of the place of a command, of the whole `all_of` for one in it."""
    place = one.place.partition("/")[0]
    return int(place) if place.isdecimal() else 10**6


LONG = {
    "SQLite, waits held": ("copy", 60.0, 200, 4),
    "SQLite, waits parked": ("copy", 0.1, 100, 4),
    "SQLite, all_of": ("together", 60.0, 40, 4),
}
"""What `make kill` does: the recipe, the longest wait that is held, the kills, runs at a time."""


WORKERS = 3
ON_SERVER = {"PostgreSQL, waits held": (60.0, 50), "PostgreSQL, waits parked": (0.3, 50)}


def reports() -> Iterator[tuple[str, Report]]:
    for name, (kind, hold, kills, at_a_time) in LONG.items():
        with tempfile.TemporaryDirectory() as folder:
            killing = Killing(Path(folder), kind, hold, seed=1)
            yield name, killing.until(kills, at_a_time)
    for name, (hold, kills) in ON_SERVER.items():
        with tempfile.TemporaryDirectory() as folder, running(max_connections="80") as server:
            url = f"postgresql://{server.address.rpartition('/')[0]}/runs"
            killing = Killing(Path(folder), "copy", hold, seed=1, database=url)
            yield name, killing.among_workers(kills, WORKERS)


def main() -> int:
    broken = 0
    for name, report in reports():
        print(f"{name}: {report}", flush=True)
        broken += len(report.broken)
    return min(broken, 1)


if __name__ == "__main__":
    sys.exit(main())
