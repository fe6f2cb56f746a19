"""Several resources at the same time, and what bounds them."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path

import pytest

from ixbackoff import N0, DeadlineExceeded, RetryBudget, at
from ixbackoff.live import live
from ixbackoff.squirrel.commands import Claim, Copy, Look, Resource, Swap
from ixbackoff.squirrel.index import Index, IndexUnavailable
from ixbackoff.squirrel.keep_all import MOST_ORIGINS, OriginBudgets
from ixbackoff.squirrel.worker_threads import Jobs
from ixbackoff.testing.web import (
    Connection,
    Fault,
    Hang,
    Origin,
    Reset,
    Slow,
    Status,
    Truncated,
)

from ..support.processes import Child
from ..support.squirrels.running import Squirrel, files_below, tidy

pytestmark = pytest.mark.slow

ACORN = b"acorn" * 1_000
MANY = {f"/nuts/{number}": b"%d" % number for number in range(40)}


INTERRUPTIBLE = """
import runpy, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv[1:1] = ["squirrel"]
runpy.run_module("ixbackoff", run_name="__main__", alter_sys=True)
"""


@pytest.fixture
def squirrel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Squirrel:
    return Squirrel(tmp_path / "squirrel", capsys)


def results(out: str) -> list[list[str]]:
    """The lines that are printed one by one."""
    return [line.split("\t") for line in out.splitlines() if "\t" in line]


def test_resources_of_a_file(squirrel: Squirrel, tmp_path: Path) -> None:
    with Origin(MANY) as origin:
        urls = [origin.url + path for path in MANY]
        file = tmp_path / "urls"
        file.write_text("\n# All of them.\n" + "\n".join(urls[2:]) + "\n  \nnuts\n")
        ran = squirrel.run(*urls[:2], "--input", str(file))
        assert ran.status == 1
        lines = results(ran.out)
        assert sorted(line[1] for line in lines if line[0] == "copied") == sorted(urls)
        (wrong,) = [line for line in lines if line[0] != "copied"]
        assert wrong[0] == "'nuts' is not a URL such as http://host/path or https://host/path."
        assert wrong[1] == f"{file}, line {len(urls) + 2}"
        assert "copied: 40 (70 B); hits: 0; failed: 1; " in ran.out
        assert squirrel.objects == {
            Resource(url).name: MANY[url.removeprefix(origin.url)] for url in urls
        }


def test_resources_of_the_standard_input(
    squirrel: Squirrel, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Origin({"/nuts": ACORN}) as origin:
        monkeypatch.setattr("sys.stdin", io.StringIO(f"{origin.url}/nuts\n"))
        ran = squirrel.run("--input", "-")
    assert (ran.status, results(ran.out)[0][0]) == (0, "copied")


@pytest.mark.parametrize("end", ["end of file", "interrupt"])
def test_resources_of_the_standard_input_are_kept_as_they_come(end: str, tmp_path: Path) -> None:
    words = ["-c", INTERRUPTIBLE, "--input", "-", "--folder", str(tmp_path / "squirrel")]
    with (
        Origin(MANY) as origin,
        subprocess.Popen(  # noqa: S603
            [sys.executable, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        for path in list(MANY)[:2]:
            process.stdin.write(f"{origin.url}{path}\n")
            process.stdin.flush()
            # One job waits for the next line of a pipe that is still open.
            line = process.stdout.readline().split("\t")
            assert line[:2] == ["copied", f"{origin.url}{path}"]
        if end == "interrupt":
            process.send_signal(signal.SIGINT)
            process.wait(timeout=60)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == (130 if end == "interrupt" else 0)
    assert out.startswith("copied: 2 (2 B); ")


def test_a_file_that_is_not_there(squirrel: Squirrel, tmp_path: Path) -> None:
    ran = squirrel.run("--input", str(tmp_path / "none"))
    assert ran.status == 2
    assert "cannot be read (No such file or directory)" in ran.err


@pytest.mark.parametrize("jobs", ["0", "-1", "1.5", "many", "1000000"])
def test_a_number_of_jobs_that_is_not_one(jobs: str, squirrel: Squirrel) -> None:
    ran = squirrel.run("http://127.0.0.1:1/nuts", "--jobs", jobs)
    assert ran.status == 2
    assert "give a whole number, 1 to 256" in ran.err


def test_several_are_kept_at_the_same_time(squirrel: Squirrel) -> None:
    slow = {f"GET {path}": repeat(Slow(seconds=0.3)) for path in list(MANY)[:16]}
    with Origin(MANY, slow) as origin:
        urls = [origin.url + path for path in list(MANY)[:16]]
        begin = time.monotonic()
        ran = squirrel.run(*urls, "--jobs", "16")
        assert ran.results == ["copied"] * 16
        assert time.monotonic() - begin < 16 * 0.3 / 2


def test_equal_ones_are_kept_one_after_the_other(squirrel: Squirrel) -> None:
    with Origin({"/nuts": ACORN}) as origin:
        url = origin.url + "/nuts"
        ran = squirrel.run(*[url] * 10, url.replace("http://", "http://me@"))
        assert ran.results == ["copied"] + ["hit"] * 10
        assert ran.err == ""
        assert origin.counts["GET /nuts"] == 1


class Counting(Fault):
    """Answers after a moment, and counts how many requests there are at the same time."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.now = self.most = 0

    def answer(self, connection: Connection) -> None:
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        connection.pause(0.1)
        with self.lock:
            self.now -= 1
        connection.send_answer(connection.carry_out())


def test_all_jobs_share_the_connections_to_a_host(squirrel: Squirrel) -> None:
    counting = Counting()
    with Origin(MANY, {path: repeat(counting) for path in MANY}) as origin:
        ran = squirrel.run(*(origin.url + path for path in MANY), "--jobs", "40")
    assert ran.results == ["copied"] * len(MANY)
    assert counting.most == 16


FAILING: dict[str, Fault] = {
    "HEAD 503": Status(503),
    "HEAD reset": Reset(),
    "GET 503": Status(503),
    "GET 429": Status(429),
    "GET reset": Reset(),
    "GET cut": Truncated(),
}


@pytest.mark.parametrize("name", FAILING)
def test_many_jobs_hammer_an_origin_that_fails_no_more_than_one(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    method, faults = name.split()[0], repeat(FAILING[name])
    counts = []
    for jobs in ("1", "8"):
        squirrel = Squirrel(tmp_path / jobs, capsys)
        with Origin(MANY) as origin:
            urls = [origin.url + path for path in MANY]
            if method == "HEAD":  # what is not kept is asked for with GET at once
                squirrel.run(*urls)
            for path in MANY:
                origin.script(f"{method} {path}", faults)
            assert squirrel.run(*urls, "--jobs", jobs, base="0.001").status == 1
            counts.append(sum(request.method == method for request in origin.requests))
    assert counts[0] < 4 * len(MANY)
    assert counts[1] <= 1.2 * counts[0]


def test_an_origin_that_fails_costs_another_one_nothing(squirrel: Squirrel) -> None:
    with (
        Origin(MANY, {f"GET {path}": repeat(Status(503)) for path in MANY}) as failing,
        Origin({"/nuts": ACORN}, {"GET /nuts": [Status(503)] * 3}) as origin,
    ):
        urls = [*(failing.url + path for path in MANY), origin.url + "/nuts"]
        assert squirrel.run(*urls, base="0.001").results[-1] == "copied"


@pytest.mark.parametrize("asked", ["1000000000", "1" + "0" * 400, "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_a_wait_that_does_not_fit_is_not_begun(asked: str, squirrel: Squirrel) -> None:
    with Origin({"/nuts": ACORN, "/later": ACORN}, {}) as origin:
        origin.script("GET /nuts", [Status(503, headers={"Retry-After": asked})])
        ran = squirrel.run(origin.url + "/nuts", origin.url + "/later", "--jobs", "1")
    assert (ran.status, ran.results[1]) == (1, "copied")
    assert "; not tried again: a wait of " in ran.results[0]
    assert ran.results[0].endswith(" s would not end before the deadline of 900 s")


def test_what_takes_too_long_is_ended(squirrel: Squirrel) -> None:
    with Origin({"/nuts": ACORN}, {"GET /nuts": [Hang()]}) as origin:
        ran = squirrel.run(origin.url + "/nuts", "--within", "1s")
    assert ran.status == 1
    assert "not done within 1 s" in ran.results[0]
    assert files_below(squirrel.folder) == ["index.sqlite"]


def test_interrupted_all_jobs_end_and_what_is_kept_is_shown(tmp_path: Path) -> None:
    folder = tmp_path / "squirrel"
    faults: dict[str, list[Fault | None]] = {
        "GET /hang": [Hang()],
        "GET /hanging": [Hang()],
        "GET /wait": [Status(503)],
    }
    resources = dict.fromkeys(["/nuts", "/hang", "/hanging", "/wait"], ACORN)
    with Origin(resources, faults) as origin:
        url = origin.url + "/nuts"
        words = [url, *(origin.url + path for path in ("/hang", "/hanging", "/wait"))]
        arguments = ["-c", INTERRUPTIBLE, *words, "--folder", str(folder), "--base", "600"]
        with Child(
            [sys.executable, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stderr is not None
            process.stderr.readline()
            while not (folder / "objects" / Resource(url).name).exists():
                time.sleep(0.01)
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            begin = time.monotonic()
            out, err = process.communicate(timeout=60)
        assert time.monotonic() - begin < 5
        assert (process.returncode, err.count("\n")) == (130, 1)
        assert "copied: 1 (5 kB); hits: 0; failed: 0; " in out
        assert "/hang" not in out
        assert files_below(folder) == tidy(url)


def test_a_file_of_many_lines_takes_no_memory_for_each() -> None:
    """Lines are read when a job is free, and nothing is kept of them."""
    read = 0

    def lines() -> Iterator[int]:
        nonlocal read
        for number in range(100_000):
            read = number
            yield number

    ahead: list[int] = []
    stop = threading.Event()
    jobs = Jobs(lines(), str, lambda one: ahead.append(read - one), lambda *_: ahead.clear(), stop)
    jobs.run(8)
    assert jobs.read == 100_000
    assert not jobs._turns


MEMORY = """
import json, resource, sys
from ixbackoff.squirrel.squirrel_command import main
assert main(sys.argv[1:]) == 0
print(json.dumps(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))
"""


def peak_of(words: list[str]) -> int:
    """Return the most memory that a squirrel had, in kB."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", MEMORY, *words], capture_output=True, text=True, check=True
    )
    peak: int = json.loads(done.stdout.splitlines()[-1])
    return peak


def test_memory_does_not_grow_with_the_number_of_resources(tmp_path: Path) -> None:
    peaks = []
    with Origin({"/nuts": ACORN}) as origin:
        for count in (300, 3_000):
            file = tmp_path / str(count)
            urls = (f"{origin.url}/nuts?{number}\n" for number in range(count))
            file.write_text("".join(urls))
            peaks.append(peak_of(["--input", str(file), "--folder", str(tmp_path / f"of {count}")]))
    assert peaks[1] - peaks[0] < 4_000, f"{peaks} kB"


def test_memory_does_not_grow_with_the_size_of_a_resource(tmp_path: Path) -> None:
    peaks = []
    for size in (2**20, 2**26):
        with Origin({"/nuts": bytes(size)}) as origin:
            peaks.append(peak_of([f"{origin.url}/nuts", "--folder", str(tmp_path / f"of {size}")]))
    assert peaks[1] - peaks[0] < 4_000, f"{peaks} kB"


def test_threads_share_an_index(tmp_path: Path) -> None:
    kept: list[Copy | None] = []
    with Index(f"sqlite:///{tmp_path / 'index.sqlite'}") as index:

        def work(number: int) -> None:
            nuts = Resource(f"http://localhost/{number}")
            key = index.claim(Claim(nuts, "den"))
            assert index.swap(Swap(nuts, "den", None, Copy(key, "v1", 5)))
            kept.append(index.look(Look(nuts, "den")).copy)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len({copy.key for copy in kept if copy is not None}) == 20


def test_a_command_waits_for_another_one_no_longer_than_its_program(tmp_path: Path) -> None:
    nuts = Resource("http://localhost/nuts")
    with Index(f"sqlite:///{tmp_path / 'index.sqlite'}") as index:
        begun, done = threading.Event(), threading.Event()

        def work(_: object) -> None:
            begun.set()
            done.wait(10)

        other = threading.Thread(target=index._do, args=(work,))
        other.start()
        begun.wait(10)
        with pytest.raises(DeadlineExceeded) as caught:
            at(N0).do(Look(nuts, "den")).run(index.interpreter | live(), within=0.2)
        done.set()
        other.join()
        assert "it did not answer in time" in str(caught.value.__cause__)
        assert index.look(Look(nuts, "den")).copy is None


def test_a_failure_reaches_each_that_asked_and_after_the_end_nobody_hangs(tmp_path: Path) -> None:
    index = Index(f"sqlite:///{tmp_path / 'index.sqlite'}")
    failures: list[Exception] = []

    def work(number: int) -> None:
        try:
            index.claim(Claim(Resource(f"http://localhost/{number}"), "\ud800" if number else "a"))
        except Exception as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert [type(failure) for failure in failures] == [UnicodeEncodeError] * 7
    index.close()
    with pytest.raises(IndexUnavailable, match="it was closed"):
        index.look(Look(Resource("http://localhost/1"), "den"))


def test_a_store_in_memory_with_an_index_that_lasts_is_refused(squirrel: Squirrel) -> None:
    words = ["--store", "memory://", "--index", f"sqlite:///{squirrel.folder}/index.sqlite"]
    ran = squirrel.run("http://127.0.0.1:1/nuts", *words)
    assert ran.status == 2
    assert "The store is in memory but the index is not" in ran.err
    assert not os.path.exists(squirrel.folder)


def spent(budget: RetryBudget) -> RetryBudget:
    assert budget.open(0.0).afford(ConnectionError("no"), 0.0)
    return budget


def test_budgets_of_many_failed_origins_are_bounded() -> None:
    budgets = OriginBudgets()
    full, left = RetryBudget.botocore().left, spent(RetryBudget.botocore()).left
    for number in range(MOST_ORIGINS + 1):
        spent(budgets.of(Resource(f"http://h{number}/a")))
    assert budgets.of(Resource(f"http://h{MOST_ORIGINS}/b")).left == left
    assert budgets.of(Resource("http://h0/b")).left == full
