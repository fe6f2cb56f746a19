"""Commands with closed standard streams, as after `>&-` and `2>&-`: the work and the status."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ixbackoff.testing.web import Origin

from ..support import jobs
from ..support.squirrels.running import files_below, tidy

ROOT = Path(__file__).parents[2]
CLOSED = [">&-", "2>&-", ">&- 2>&-"]
RUN = ["ixbackoff", "run", "N1", "--schedule", f"{jobs.__name__}:quick", "--"]


def ended(closed: str, folder: Path, *words: str) -> tuple[int, str]:
    """Run a module of ours behind `sh`; return its status and what it could still write."""
    done = subprocess.run(  # noqa: S603
        ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-m", *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("closed", CLOSED)
@pytest.mark.parametrize("status", [0, 3])
def test_a_shell_command_runs(closed: str, status: int, tmp_path: Path) -> None:
    script = f"echo try >> tries; exit {status}"
    got, written = ended(closed, tmp_path, *RUN, "sh", "-c", script)
    assert got == status
    assert (tmp_path / "tries").read_text() == "try\n" * (2 if status else 1)
    assert "Traceback" not in written


@pytest.mark.parametrize("closed", CLOSED)
def test_the_shell_command_has_the_streams_as_they_were(closed: str, tmp_path: Path) -> None:
    script = "import sys; print(sys.stdout is None, sys.stderr is None, file=open('closed', 'w'))"
    assert ended(closed, tmp_path, *RUN, sys.executable, "-c", script) == (0, "")
    found = (tmp_path / "closed").read_text().split()
    assert found == [str(">&-" in closed.split()), str("2>&-" in closed)]


@pytest.mark.parametrize("closed", CLOSED)
@pytest.mark.parametrize(("name", "status"), [("raw", 0), ("data", 0), ("failing", 1)])
def test_a_program_runs(closed: str, name: str, status: int, tmp_path: Path) -> None:
    words = "ixbackoff", "run", f"{jobs.__name__}:{name}", "--schedule", f"{jobs.__name__}:quick"
    got, written = ended(closed, tmp_path, *words)
    assert got == status
    assert "Traceback" not in written


@pytest.mark.parametrize("closed", CLOSED)
def test_the_squirrel_copies(closed: str, tmp_path: Path) -> None:
    with Origin({"/nuts": b"nuts"}) as origin:
        got, written = ended(closed, tmp_path, "ixbackoff", "squirrel", origin.url + "/nuts")
        assert (got, "Traceback" in written) == (0, False)
        assert files_below(tmp_path / "squirrel") == tidy(origin.url + "/nuts")
        missing = ended(closed, tmp_path, "ixbackoff", "squirrel", origin.url + "/missing")
    assert (missing[0], "Traceback" in missing[1]) == (1, False)


@pytest.mark.parametrize("closed", CLOSED)
def test_a_fleet_is_simulated(closed: str, tmp_path: Path) -> None:
    words = "ixbackoff", "fleet", "simulate", f"{jobs.__name__}:called"
    assert ended(closed, tmp_path, *words, "--clients", "10", "--seeds", "2")[0] == 0
