"""Hostile answers, and what becomes of them: `python -m tests.support.hostile.attacks`.

Each comes out as its own bytes, or as a clear failure, in bounded time and memory, and nothing is
left behind. It is asked for in three ways: sync, under asyncio and under trio; with the word
`turns`, each of them in one of these ways, in turn. Without that a squirrel keeps them all, too.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from socket import gaierror
from typing import NamedTuple

from ixbackoff import ClientError, Download, NotReady, ServerError, Throttled
from ixbackoff._words.printable_text import printable
from ixbackoff.live import Limits, RedirectError, TooLarge
from ixbackoff.squirrel.commands import Resource

from ..squirrels.running import objects_of, rows_of
from ..ways.live import ASYNC, SYNC, Way
from .answers import Hostile, lengths, status_lines, statuses
from .bodies import bombs, chunks, codings, drips, endless, ends
from .headers import etags, headers, informational, parts, redirects
from .servers import answering

FAMILIES = (
    *(status_lines, statuses, lengths, codings, chunks, headers, etags),
    *(informational, bombs, redirects, parts, ends, endless, drips),
)
CLEAR = (
    *(ConnectionError, TimeoutError, ServerError, Throttled, NotReady, ClientError, TooLarge),
    *(RedirectError, ValueError, FileNotFoundError, PermissionError, gaierror),
)
UNCLEAR = re.compile("invalid literal|codec|Exceeds the limit|object|HTTP does not allow")
"""Words of errors that Python raises by itself, or that are about what we have sent."""
PART = {".a.part", ".a.part.json"}
WAYS = (SYNC, *ASYNC)
AT_ONCE = 8
LONG = 10.0  # seconds
SOON = Limits(connect_timeout=LONG, read_timeout=0.2, total_timeout=0.6, max_size=2**20)
USUAL = Limits(connect_timeout=LONG, read_timeout=LONG, total_timeout=LONG, max_size=2**26)
MOST = 100  # megabytes of memory


class Attack(NamedTuple):
    """An answer, where it is, and the way in which it is asked for."""

    answer: Hostile
    url: str
    way: Way

    def complaint(self) -> str:
        """Download the answer; return what is wrong with what comes of that, or nothing."""
        limits = SOON if self.answer.lasts or self.answer.slow else USUAL
        begun = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / "a"
            try:
                self.way.perform(Download(self.url, str(target)), limits=limits)
                wrong = self.wrong_with(target.read_bytes())
            except Exception as failure:
                wrong = self.wrong_with_failure(failure)
            left = {*os.listdir(folder)} - PART - {"a"}
        if left:
            wrong = f"it has left {left}"
        if time.monotonic() - begun > LONG:
            wrong = f"it took {time.monotonic() - begun:.0f} s"
        return f"{self.way.name}, {self.answer.name}: {wrong}" if wrong else ""

    def wrong_with(self, kept: bytes) -> str:
        if kept == self.answer.kept:
            return ""
        return f"{kept[:40]!r} was kept"

    def wrong_with_failure(self, failure: Exception) -> str:
        texts = [str(failure), *getattr(failure, "__notes__", ())]
        shown = " ".join(texts)
        if not self.answer.fails or not isinstance(failure, CLEAR):
            return repr(failure)
        if shown != printable(shown) or len(shown) > 1_000 or UNCLEAR.search(shown):
            return f"its failure is not clear: {shown[:200]!r}"
        return ""


def attacks(url: str, answers: list[Hostile], turns: bool) -> list[Attack]:
    numbered = [(number, answer, f"{url}/{number}") for number, answer in enumerate(answers)]
    if turns:
        return [Attack(answer, place, WAYS[number % 3]) for number, answer, place in numbered]
    return [Attack(answer, place, way) for way in WAYS for _, answer, place in numbered]


def complaints(all_attacks: list[Attack]) -> list[str]:
    """Perform all attacks, some of them concurrently: the long ones mostly wait."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return [told for told in pool.map(Attack.complaint, all_attacks) if told]


def complaints_of_a_squirrel(url: str, answers: list[Hostile]) -> list[str]:
    """Let a squirrel keep all resources; return the faults of its index, objects and output."""
    with tempfile.TemporaryDirectory() as place:
        folder, urls = Path(place) / "squirrel", [f"{url}/{each}" for each in range(len(answers))]
        folder.with_name("urls").write_text("\n".join(urls))
        words = ["--input", str(folder.with_name("urls")), "--folder", str(folder)]
        words += ["--base", "0.001", "--within", "5", "--jobs", "16"]
        command = [sys.executable, "-m", "ixbackoff", "squirrel", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        objects = objects_of(folder)
        rows = {row.name: row.size for row in rows_of(folder / "index.sqlite")}
    told = [line for line in done.stdout.splitlines() if line.startswith(("copied\t", "hit\t"))]
    said = {line.split("\t")[1] for line in told}
    wrong = []
    for place_of_it, answer in zip(urls, answers, strict=True):
        name = Resource(place_of_it).name
        if name in rows and (objects[name] != answer.kept or rows[name] != len(objects[name])):
            wrong.append(f"a squirrel, {answer.name}: {objects[name][:40]!r} was kept")
        if (name in rows) < (place_of_it in said) or not (name in rows or answer.fails):
            wrong.append(f"a squirrel, {answer.name}: it is not kept")
    shown = (done.stdout + done.stderr).replace("\t", "").splitlines()
    return wrong + [f"a squirrel says {line!r}" for line in shown if not line.isprintable()]


def memory() -> int:
    """Return the most memory that this process has used until now, in megabytes."""
    said = Path("/proc/self/status").read_text()
    return int("".join(re.findall("VmHWM:\\s+([0-9]+) kB", said))) // 1024


def main() -> int:
    begun, turns = time.monotonic(), sys.argv[1:] == ["turns"]
    answers = [one for family in FAMILIES for one in family()]
    with answering(answers) as url:
        complaints(attacks(url, answers[:3], turns=False))  # imports take memory, too
        before = memory()
        told = complaints(attacks(url, answers, turns))
        if not turns:
            told += complaints_of_a_squirrel(url, answers)
    if memory() - before > MOST:
        told.append(f"{memory() - before} MB of memory were used")
    counts = f"{len(answers)} hostile answers"
    print(f"{counts} ({time.monotonic() - begun:.0f} s, {memory() - before} MB)")
    print("\n".join([*told, "as promised" if not told else "BROKEN"]))
    return min(len(told), 1)


if __name__ == "__main__":
    sys.exit(main())
