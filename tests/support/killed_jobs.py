"""Killing squirrels with several jobs at random moments, and checking what they keep afterwards.

`python -m tests.support.killed_jobs` does it for long, and `make kill` does that.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from ixbackoff.squirrel.commands import Resource
from ixbackoff.testing.web import Fault, Origin, Slow, Status, Truncated

from .squirrels import files_below, objects_of, rows_of

ROOT = Path(__file__).parents[2]
LONG = 200
STARTS, WORKS = 0.3, 1.5
"""Seconds in which a process is seldom at work yet, and in which it is at work mostly."""

RESOURCES = {f"/nuts/{number}": b"%d" % number * 50_000 for number in range(12)}
FAULTS: dict[str, list[Fault | None]] = {
    "GET /nuts/1": [Truncated(after=20_000)],
    "GET /nuts/2": [Slow(seconds=0.02, piece=8_192)] * 20,
    "GET /nuts/3": [Status(503)],
    "GET /nuts/4": [Slow(seconds=0.05, piece=8_192)] * 20,
}


@dataclass
class Killing:
    """Kills squirrels in one folder, whose resources change now and then.

    Args:
        folder: where the copies are kept.
        seed: the kills come at the moments that it decides.
    """

    folder: Path
    seed: int
    kills: int = 0
    whole: int = 0
    broken: list[str] = field(default_factory=list)

    def until(self, kills: int) -> Killing:
        chance = random.Random(self.seed)  # noqa: S311
        with Origin(dict(RESOURCES), FAULTS) as origin:
            urls = [origin.url + path for path in RESOURCES]
            while self.kills < kills:
                path = chance.choice(list(RESOURCES))
                origin.resources[path] = b"%d" % self.kills * chance.randrange(1, 50_000)
                for _ in range(chance.randrange(1, 4)):
                    self.kill(urls, chance.uniform(STARTS, WORKS))
                self.check(urls, {url: origin.resources[url[len(origin.url) :]] for url in urls})
        return self

    def begun(self, urls: list[str]) -> subprocess.Popen[str]:
        words = [*urls, "--folder", str(self.folder), "--base", "0.01", "--jobs", "8"]
        command = [sys.executable, "-m", "ixbackoff.squirrel", *words]
        return subprocess.Popen(  # noqa: S603
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def kill(self, urls: list[str], seconds: float) -> None:
        with self.begun(urls) as process:
            time.sleep(seconds)
            process.kill()
            process.communicate()
        self.kills += 1

    def check(self, urls: list[str], bodies: dict[str, object]) -> None:
        """After the next run each resource is one whole object, and nothing else is there."""
        with self.begun(urls) as process:
            out, _ = process.communicate(timeout=120)
        self.whole += 1
        if process.returncode:
            self.broken.append(f"after {self.kills} kills: {out}")
        names = {Resource(url).name: body for url, body in bodies.items()}
        try:
            kept = objects_of(self.folder)
        except AssertionError as error:
            self.broken.append(f"after {self.kills} kills: {error}")
            return
        if kept != names:
            self.broken.append(f"after {self.kills} kills: other objects than the origin has")
        sizes = {row.name: row.size for row in rows_of(self.folder / "index.sqlite")}
        if sizes != {name: len(body) for name, body in kept.items()}:
            self.broken.append(f"after {self.kills} kills: the index has {sizes}")
        places = [f"objects/{name}{more}" for name in names for more in ("", "/*")]
        left = set(files_below(self.folder)) - {"index.sqlite", "objects", *places}
        if left:
            self.broken.append(f"after {self.kills} kills: left over {sorted(left)}")

    def __str__(self) -> str:
        counts = f"{self.kills} kills with 8 jobs, {self.whole} runs to their ends"
        return "\n".join([counts, *self.broken, "as promised" if not self.broken else "BROKEN"])


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        found = Killing(Path(folder) / "squirrel", seed=1).until(LONG)
    print(f"squirrels: {found}")
    return min(len(found.broken), 1)


if __name__ == "__main__":
    sys.exit(main())
