"""Killing durable squirrels at random moments, and checking what the origin and the store saw.

`python -m tests.support.kills.durable_squirrels` does it for long, and `make kill` does that.
"""

from __future__ import annotations

import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from signal import SIGKILL

from ixbackoff.squirrel.commands import Resource
from ixbackoff.testing.web import Fault, Origin, ReceivedRequest, Reset, Slow, Status, Truncated

from ..processes import Child
from ..squirrels.running import Ran, files_below, objects_of, rows_of
from .killing import Killing, Report, told

ROOT = Path(__file__).parents[3]
BASE = 0.8  # seconds
RECORDED = 0.4  # seconds in which a failure that the origin caused is in the journal
EARLY = 0.1  # the part of all kills that may come while the process starts
LONGEST = 1.5  # seconds from the first sign of a process to a kill
LONG = 100

RESOURCES = {
    "/acorns": b"acorn" * 2_000,
    "/beechnuts": b"beechnut" * 40_000,
    "/hazelnuts": b"hazelnut" * 1_000,
    "/walnuts": b"walnut" * 50_000,
}
SQUIRRELS = f"commands with {len(RESOURCES)} resources each"
FAULTS: dict[str, list[Fault | None]] = {
    "GET /acorns": [Status(503)],
    "GET /beechnuts": [Reset(after=10_000), Truncated(after=30_000)],
    "HEAD /hazelnuts": [Status(503, retry_after=1), Status(500)],
    "GET /walnuts": [None, Slow(seconds=0.02, piece=32 * 1024)],
}
FAILING = {
    asked: sum(fault is not None and not isinstance(fault, Slow) for fault in faults)
    for asked, faults in FAULTS.items()
}


@dataclass
class KillingDurably(Killing):
    """Kills squirrels, each with a folder of its own, until there were enough kills.

    Args:
        words: what the command line has besides, for a squirrel of this number.
        objects: the store's contents, for a squirrel of this number.
    """

    words: Callable[[int], list[str]] = lambda number: []
    objects: Callable[[int], dict[str, bytes]] | None = None
    killed_late: bool = field(default=False, init=False)

    def until(self, kills: int) -> Report:
        counts = self.report.counts
        while counts["kills"] < kills:
            counts[SQUIRRELS] += 1
            self.squirrel(counts[SQUIRRELS], kills)
        return self.report

    def squirrel(self, number: int, kills: int) -> None:
        """Kill one squirrel again and again until it reaches its end, and check what it keeps."""
        home = self.folder / str(number)
        with Origin(RESOURCES, FAULTS) as origin:
            begin = time.monotonic()
            urls = [origin.url + path for path in RESOURCES]
            words = [*urls, "--folder", str(home), "--base", str(BASE), *self.words(number)]
            killed: list[float] = []
            while (ran := self.ran(words, origin, self.report.counts["kills"] < kills)) is None:
                killed.append(time.monotonic() - begin)
                self.report.counts["kills"] += 1
            for path in RESOURCES:
                asked = [one for one in origin.requests if one.path == path]
                self.report.counts["requests"] += len(asked)
                self.check_repeats(path, asked, killed)
                self.check_waits(path, asked, killed)
            if self.killed_late:
                self.ran(words, origin, kill=False)
        self.check_kept(number, home, ran, urls)

    def ran(self, words: list[str], origin: Origin, kill: bool) -> Ran | None:
        """Run a squirrel; return `None` if it was killed before it had printed its table.

        One that is killed after its table leaves its runs, and the next one removes them.
        """
        command = [sys.executable, "-m", "ixbackoff", "squirrel", "--durable", *words]
        with Child(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            if kill:
                if self.chance.random() >= EARLY:
                    wait_for_a_sign(process, origin)
                time.sleep(self.chance.uniform(0, LONGEST))
                process.kill()
            out, err = process.communicate(timeout=60)
        self.killed_late = process.returncode == -SIGKILL
        if self.killed_late and "└" not in out:
            return None
        return Ran(max(process.returncode, 0), out, err)

    def check_repeats(self, path: str, asked: list[ReceivedRequest], killed: list[float]) -> None:
        """A request is repeated only by the next try, or after a kill.

        A kill loses an answer that is not in the journal yet.
        """
        failed = [
            one.at
            for method in ("HEAD", "GET")
            for one in [one for one in asked if one.method == method][
                : FAILING.get(f"{method} {path}", 0)
            ]
        ]
        for method in ("HEAD", "GET"):
            mine = [one for one in asked if one.method == method]
            answered = mine[FAILING.get(f"{method} {path}", 0) :]
            self.report.counts["of them again"] += len(answered) - 1
            for one, again in pairwise(answered):
                if not any(one.at <= moment <= again.at for moment in [*killed, *failed]):
                    self.broke(f"{method} {path} was asked again, without a kill between")
            if not answered:
                self.broke(f"{method} {path} was never answered")

    def check_waits(self, path: str, asked: list[ReceivedRequest], killed: list[float]) -> None:
        """The k-th failure and the next request are at least the k-th wait of the ladder apart."""
        wait = BASE
        for method in ("HEAD", "GET"):
            mine = [one for one in asked if one.method == method]
            for failed in mine[: FAILING.get(f"{method} {path}", 0)]:
                if any(failed.at <= moment <= failed.at + RECORDED for moment in killed):
                    continue  # nobody but the origin may know of it
                following = [one for one in asked if one.at > failed.at]
                if not following:
                    self.broke(f"{method} {path} was not tried again")
                    continue
                waited = following[0].at - failed.at
                self.report.counts["waits"] += 1
                within = any(failed.at < moment < following[0].at for moment in killed)
                self.report.counts["with a kill in them"] += within
                if waited < wait:
                    self.broke(f"{method} {path}: {waited:.3f} s of {wait} s")
                wait *= 2

    def check_kept(self, number: int, home: Path, ran: Ran, urls: list[str]) -> None:
        """Each resource is one object with the right bytes, and nothing else is left."""
        if (ran.status, ran.results) != (0, ["copied"] * len(urls)):
            self.broke(f"squirrel {number} ended with {ran.status}, {ran.results}: {ran.err}")
        names = {
            Resource(url).name: body for url, body in zip(urls, RESOURCES.values(), strict=True)
        }
        kept = objects_of(home) if self.objects is None else self.objects(number)
        if kept != names:
            self.broke(f"squirrel {number} kept {sorted(kept)} in place of {sorted(names)}")
        rows = {row.name: row.etag for row in rows_of(home / "index.sqlite")}
        if rows.keys() != names.keys() or None in rows.values():
            self.broke(f"squirrel {number} has the index {rows}")
        places = [f"objects/{name}{more}" for name in names for more in ("", "/*")]
        objects = [] if self.objects else ["objects", *places]
        if files_below(home) != sorted(
            ["index.sqlite", "runs.sqlite", "runs.sqlite.worker", *objects]
        ):
            self.broke(f"squirrel {number} has left {files_below(home)}")


def wait_for_a_sign(process: subprocess.Popen[str], origin: Origin) -> None:
    """Wait until a squirrel asks its origin for something, or says something."""
    assert process.stderr is not None
    asked = len(origin.requests)
    while process.poll() is None and len(origin.requests) == asked:
        if select.select([process.stderr], [], [], 0.02)[0]:
            return


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        killing = KillingDurably(Path(folder), seed=1)
        return 0 if told("durable squirrels", lambda: killing.until(LONG)) else 1


if __name__ == "__main__":
    sys.exit(main())
