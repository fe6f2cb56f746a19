"""Worker processes end with what began them, also if that is interrupted or killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc"),
]
ROOT = Path(__file__).parents[2]
PROGRAM = """
from ixbackoff import FOREVER, Download, at
patient = at(FOREVER).retry(Download("http://localhost/a", "a"))
"""
SEEDS = ["--seeds", "4", "--jobs", "2"]
COMMANDS = [
    ["ixbackoff", "fleet", "simulate", "mine:patient", "--seconds", "1000000", *SEEDS],
    ["benchmarks.experiments", "crash", "--outage", "50000", *SEEDS],
]
PATIENCE = 60.0


def parent(process: int) -> int:
    """The parent of a process; 0, if it has ended, or is a zombie."""
    try:
        state, its = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[:2]
    except OSError:
        return 0
    return 0 if state == "Z" else int(its)


def children(process: int) -> list[int]:
    numbers = [int(one.name) for one in Path("/proc").iterdir() if one.name.isdigit()]
    return [number for number in numbers if parent(number) == process]


@pytest.fixture(params=COMMANDS, ids=lambda words: words[0])
def running(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[tuple[subprocess.Popen[bytes], list[int]]]:
    """A long simulation, and its two workers, which are at work."""
    (tmp_path / "mine.py").write_text(PROGRAM)
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", *request.param],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    workers: list[int] = []
    with process:
        try:
            end = time.monotonic() + PATIENCE
            while len(workers) < 2 and time.monotonic() < end:
                time.sleep(0.05)
                workers = children(process.pid)
            yield process, workers
        finally:
            process.kill()
            for worker in workers:
                if parent(worker):
                    os.kill(worker, signal.SIGKILL)


def ended(workers: list[int]) -> bool:
    """Wait until they have ended."""
    end = time.monotonic() + PATIENCE
    while any(map(parent, workers)) and time.monotonic() < end:
        time.sleep(0.05)
    return not any(map(parent, workers))


def test_an_interrupt_ends_the_workers(
    running: tuple[subprocess.Popen[bytes], list[int]],
) -> None:
    process, workers = running
    assert len(workers) == 2
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (130, b"", b"Interrupted.\n")
    assert ended(workers)


def test_workers_end_if_what_began_them_is_killed(
    running: tuple[subprocess.Popen[bytes], list[int]],
) -> None:
    process, workers = running
    process.kill()
    assert ended(workers)


def test_a_killed_worker_is_told_in_one_line(
    running: tuple[subprocess.Popen[bytes], list[int]],
) -> None:
    process, workers = running
    os.kill(workers[0], signal.SIGKILL)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err.count(b"\n")) == (1, b"", 1)
    assert err.startswith(b"A worker ended before it was done with seed=")
    assert ended(workers)
