"""The squirrel where the system has no more than Windows has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ixbackoff.squirrel.commands import Resource
from ixbackoff.testing.web import Document, Origin, Truncated

from ..support.elsewhere import HIDE
from ..support.squirrels.running import files_below, objects_of

NUTS = bytes(range(256)) * 2000
RUN = """
import rich.progress, sqlalchemy, sqlite3
from ixbackoff.squirrel.squirrel_command import main
for _ in range(2):
    assert main(sys.argv[1:]) == 0
"""


@pytest.mark.slow
def test_what_windows_lacks_is_not_missed(tmp_path: Path) -> None:
    with Origin({"/nuts": Document(NUTS)}, {"GET /nuts": [Truncated(len(NUTS) // 2)]}) as origin:
        url, folder = f"{origin.url}/nuts", tmp_path / "squirrel"
        arguments = [sys.executable, "-c", HIDE + RUN, url, "--folder", str(folder)]
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=60)  # noqa: S603
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("copied: 1 (512 kB); hits: 0") == 1
    assert done.stdout.count("copied: 0 (0 B); hits: 1") == 1
    assert objects_of(folder) == {Resource(url).name: NUTS}
    assert not [name for name in files_below(folder) if "part" in name]
