"""Killing squirrels with several jobs at random moments, and checking what they keep afterwards.

`python -m tests.support.kills.squirrels` does it for long, and `make kill` does that.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from signal import SIGKILL
from typing import ClassVar, NamedTuple
from unittest.mock import patch

from ixbackoff.squirrel.commands import Resource
from ixbackoff.testing.web import Document, Fault, Origin, Slow, Status, Truncated

from ..servers.s3 import s3_server
from ..squirrels.running import claims_of, files_below, rows_of
from ..squirrels.stores import Bucket, Folder, Store
from .killing import Killing, Report, told

ROOT = Path(__file__).parents[3]
JOBS = 8
WAITS = 3  # of the ladder of a squirrel
EARLY = 0.1  # the part of all kills that come before a process asks for something
STARTING = 0.5  # seconds in which such a kill comes
SOONER, LATER = 0.8, 1.05
ENDS = 120.0  # seconds in which a run comes to its end
OFTEN = 100  # kills after which a mistake has been noticed


FILES = ("index.sqlite", "runs.sqlite", "runs.sqlite.worker")
KEYS = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1"}


class Sizes(NamedTuple):
    """How many resources there are, and between which sizes they change."""

    resources: int
    least: int
    most: int


SMALL = Sizes(12, 1, 600_000)
MIXED = Sizes(12, 10_000, 12_000_000)
LARGE = Sizes(6, 5_500_000, 12_000_000)


@dataclass
class KillingSquirrels(Killing):
    """Kills squirrels in one folder, whose resources change now and then.

    The kills are spread over the whole time for which a squirrel is at work: if one has ended
    before its kill, the next ones come sooner, and else later.

    Args:
        store: where the copies are; by default in the folder.
        sizes: of the resources.
        mistake: the name of one that the squirrels have.
        words: further words of their command line.
    """

    what: ClassVar[str] = "kills"
    store: Store | None = None
    sizes: Sizes = SMALL
    mistake: str = ""
    words: list[str] = field(default_factory=list[str])
    works: float = field(default=0.0, init=False)  # seconds

    def __post_init__(self) -> None:
        super().__post_init__()
        self.kept: Store = self.store or Folder(self.folder)
        self.input = self.folder.with_name(f"{self.folder.name}.txt")

    @property
    def kills(self) -> int:
        return self.report.counts[self.what]

    def until(self, kills: int) -> Report:
        """Kill `kills` times, or until a mistake is found."""
        paths = [f"/nuts/{number}" for number in range(self.sizes.resources)]
        with Origin({path: self.body() for path in paths}) as origin:
            for path in paths:
                origin.script(f"GET {path}", self.faults())
            urls = [origin.url + path for path in paths]
            self.check(urls, origin)
            while self.kills < kills and not (self.mistake and self.report.broken):
                for path in self.chance.sample(paths, len(paths) // 2):
                    origin.resources[path] = self.body()
                for _ in range(self.chance.randrange(1, 4)):
                    self.kill(urls, origin)
                self.check(urls, origin)
        return self.report

    def body(self) -> bytes:
        """Return a body of its own."""
        size = int(self.sizes.least * (self.sizes.most / self.sizes.least) ** self.chance.random())
        mark = b"%016x" % self.chance.getrandbits(64)
        return (mark * (size // len(mark) + 1))[:size]

    def faults(self) -> Iterator[Fault | None]:
        """Yield the origin's answers; it never fails more often in a row than a ladder waits."""
        bad = 0
        while True:
            slow = Slow(seconds=0.03, piece=self.sizes.most // 16)
            failures = [Truncated(self.chance.randrange(self.sizes.most)), Status(503)]
            fault = self.chance.choice([None, None, slow, slow, *failures[: 2 * (bad < WAITS)]])
            bad = bad + 1 if fault in failures else 0
            yield fault

    @property
    def program(self) -> list[str]:
        """The words that begin a squirrel, before those of its command line."""
        if self.mistake:
            return ["-m", "tests.support.kills.mutated", self.mistake]
        return ["-m", "ixbackoff", "squirrel"]

    def begun(self, urls: list[str]) -> subprocess.Popen[str]:
        self.input.write_text("".join(f"{url}\n" for url in urls))
        words = ["--input", str(self.input), "--folder", str(self.folder)]
        words += ["--base", "0.01", "--jobs", f"{JOBS}", *self.words, *self.kept.words]
        return subprocess.Popen(  # noqa: S603
            [sys.executable, *self.program, *words],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def kill(self, urls: list[str], origin: Origin) -> None:
        """Kill a squirrel at work; a kill after its end does not count."""
        with self.begun(urls) as process:
            if self.chance.random() < EARLY:
                time.sleep(self.chance.uniform(0.0, STARTING))
            else:
                wait_for_a_request(process, origin)
                time.sleep(self.chance.uniform(0.0, self.works))
            self.strike(process)
            out, _ = process.communicate()
        if process.returncode != -SIGKILL:
            self.works *= SOONER
            self.report.counts["came too late"] += 1
        else:
            self.works *= LATER
            self.report.counts[self.what] += 1
        self.struck(out, self.served(urls, origin))

    def strike(self, process: subprocess.Popen[str]) -> None:
        process.kill()

    def struck(self, out: str, served: dict[str, bytes]) -> None:
        """Count what a killed squirrel left; the index has every resource that it reported."""
        files = files_below(self.folder)
        left = self.report.counts
        left["left a download"] += any(name.endswith(".part") for name in files)
        left["left an upload"] += bool(self.kept.unfinished())
        left["left a claim"] += bool(claims_of(self.index))
        etags = {row.name: row.etag for row in rows_of(self.index)}
        for name in said_in(out):
            self.report.counts["resources were said to be kept"] += 1
            if etags.get(name) != etag_of(served[name]):
                self.broke(f"it said that it keeps {name}, and the index does not know it")

    def served(self, urls: list[str], origin: Origin) -> dict[str, bytes]:
        """Return what the origin has, by the names of the resources."""
        found = {Resource(url).name: origin.resources[url[len(origin.url) :]] for url in urls}
        return {name: body for name, body in found.items() if isinstance(body, bytes)}

    @property
    def index(self) -> Path:
        return self.folder / "index.sqlite"

    def recorded(self) -> dict[str, tuple[str | None, bytes]]:
        """Return the ETag and the object of each resource that the index has."""
        objects = self.kept.objects()
        rows = [row for row in rows_of(self.index) if row.place == self.kept.place]
        if {row.key: row.size for row in rows} != {key: len(objects[key]) for key in objects}:
            self.broke(f"not one object a resource: {sorted(objects)}")
        return {row.name: (row.etag, objects.get(row.key, b"")) for row in rows}

    def check(self, urls: list[str], origin: Origin) -> None:
        """After the next run each resource is one whole object, and nothing else is there."""
        with self.begun(urls) as process:
            wait_for_a_request(process, origin)
            begun = time.monotonic()
            out, _ = process.communicate(timeout=ENDS)
        self.works = self.works or time.monotonic() - begun
        self.report.counts["runs to their ends"] += 1
        if process.returncode:
            self.broke(out)
        served = self.served(urls, origin)
        wanted = {name: (etag_of(body), body) for name, body in served.items()}
        found = self.recorded()
        if found != wanted:
            wrong = sorted(name for name in wanted if found.get(name) != wanted[name])
            self.broke(f"the index and the objects are not what the origin has of {wrong}")
        places = [f"objects/{name}{more}" for name in wanted for more in ("", "/*")]
        left = set(files_below(self.folder)) - {*FILES, "objects", *places}
        left |= set(claims_of(self.index))
        if isinstance(self.kept, Folder):  # in a bucket its lifecycle rule removes them
            left |= set(self.kept.unfinished())
        if left:
            self.broke(f"left over {sorted(left)}")

    def broke(self, sentence: str) -> None:
        super().broke(f"after {self.kills} {self.what}: {sentence}")


def said_in(out: str) -> list[str]:
    """Return the names of the resources that a squirrel reported as kept."""
    lines = [line.split("\t") for line in out.splitlines(keepends=True) if line.endswith("\n")]
    kept = [cells[4] for cells in lines if len(cells) == 5 and cells[0] in ("copied", "hit")]
    return [key.partition("/")[0] for key in kept]


def etag_of(body: bytes) -> str:
    return Document(body).all_headers["ETag"]


def wait_for_a_request(process: subprocess.Popen[str], origin: Origin) -> None:
    """Wait until a squirrel asks its origin for something, or has ended."""
    asked = len(origin.requests)
    while process.poll() is None and len(origin.requests) == asked:
        time.sleep(0.005)


class Part(NamedTuple):
    """A part of the long run.

    Attributes:
        name: what is killed.
        kills: how often.
        sizes: of the resources.
        in_bucket: whether the copies are in a bucket.
        mistake: the name of one that the squirrels have.
    """

    name: str
    kills: int
    sizes: Sizes
    in_bucket: bool = False
    mistake: str = ""


PARTS = [
    Part(f"squirrels with {JOBS} jobs, a folder", 200, MIXED),
    Part(f"squirrels with {JOBS} jobs, a bucket", 100, LARGE, in_bucket=True),
]
MISTAKES = [
    Part(f"{'a bucket' if in_bucket else 'a folder'}: {mistake}", OFTEN, LARGE, in_bucket, mistake)
    for mistake, in_bucket in [
        ("what the dead have left is not removed", False),
        ("what the dead have left is not removed", True),
        ("files on their way are left", False),
        ("the record comes before the object, and hits are not looked at", False),
        ("the record comes before the object, and hits are not looked at", True),
    ]
]


def killed(part: Part, number: int, endpoint: str) -> Report:
    """Do a part, with a bucket of its own."""
    with tempfile.TemporaryDirectory() as name:
        bucket = Bucket(endpoint, f"bucket-{number}")
        bucket.make()
        store = bucket if part.in_bucket else None
        folder = Path(name) / "squirrel"
        killing = KillingSquirrels(folder, number, store, part.sizes, part.mistake)
        return killing.until(part.kills)


def main() -> int:
    with patch.dict(os.environ, KEYS), s3_server() as endpoint:
        done = [
            told(part.name, partial(killed, part, number, endpoint), "" if part.mistake else None)
            for number, part in enumerate(PARTS + MISTAKES)
        ]
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main())
