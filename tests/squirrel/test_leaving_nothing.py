"""The demonstration and the benchmark write into a temporary folder alone, and remove it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ..support.processes import Child

ROOT = Path(__file__).parents[2]

# A process that a shell starts in the background ignores SIGINT, and so do its children.
INTERRUPTIBLE = """
import runpy, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv[1:] = ["memory"]
runpy.run_module("benchmarks.squirrel", run_name="__main__", alter_sys=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_benchmark_that_is_interrupted_leaves_no_file(number: int, tmp_path: Path) -> None:
    working, temporary = tmp_path / "working", tmp_path / "temporary"
    working.mkdir()
    temporary.mkdir()
    env = {**os.environ, "BENCH_FOLDER": str(temporary), "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-c", INTERRUPTIBLE]
    with Child(words, cwd=working, env=env, stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + 60
        while not [*temporary.rglob("objects/*/*")]:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(number)
        process.communicate(timeout=60)
    assert process.returncode != 0
    assert [*working.iterdir(), *temporary.iterdir()] == []


@pytest.mark.slow
def test_the_demonstration_leaves_no_file(tmp_path: Path) -> None:
    working, temporary = tmp_path / "working", tmp_path / "temporary"
    working.mkdir()
    temporary.mkdir()
    env = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-m", "ixbackoff", "squirrel", "--demo"]
    done = subprocess.run(words, cwd=working, env=env, capture_output=True, timeout=60)  # noqa: S603
    assert done.returncode == 0
    assert [*working.iterdir(), *temporary.iterdir()] == []
