"""A run that is killed with `kill -9` goes on where it was, and its wait is not shortened."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

NAPPING = """
import os, signal, sys, time
from ixbackoff import N1, Constant, at, call
from ixbackoff.durable import Engine, durable
from ixbackoff.live import live

def told(what):
    with open(sys.argv[1] + "/told", "a") as file:
        print(what, time.clock_gettime(time.CLOCK_MONOTONIC), file=file)
    return what

@durable(name="nap", schedule=Constant(1.5))
def nap():
    return at(N1).do(call(told, "before")).wait().do(call(told, "after"))

engine = Engine(live(), nap, database=f"sqlite:///{sys.argv[1]}/runs.sqlite")
run = engine.start_with_id("nap", nap)
if len(sys.argv) > 2:
    while not os.path.exists(sys.argv[1] + "/told"):
        time.sleep(0.01)
    time.sleep(float(sys.argv[2]))
    os.kill(os.getpid(), signal.SIGKILL)
print(run.result())
engine.close()
"""


def nap(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    arguments = [sys.executable, "-c", NAPPING, str(folder), *words]
    return subprocess.run(  # noqa: S603
        arguments, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.slow
def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    assert nap(tmp_path, "0.4").returncode == -9
    again = nap(tmp_path)
    assert (again.returncode, again.stdout) == (0, "after\n"), again.stderr
    told = [line.split() for line in (tmp_path / "told").read_text().splitlines()]
    assert [what for what, _ in told] == ["before", "after"]
    assert float(told[1][1]) - float(told[0][1]) >= 1.5
