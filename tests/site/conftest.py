"""The site, built once for all tests that look at it, also for those of other workers."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
WITHOUT_NPM = "The site is built without its playground: npm is not installed."


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, which the first worker that needs it builds, while the others wait for it."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    folder /= "site"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "built").exists():
            build(folder)
            (folder / "built").touch()
    return folder / "html"


def build(folder: Path) -> None:
    """Build the site, strictly; a warning is an error. Only without npm it has no playground."""
    words = ["--builder=html", "--fail-on-warning", "--nitpicky", "--quiet"]
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "sphinx", *words, DOCS, folder / "html", "-d", folder / "trees"],
        capture_output=True,
        text=True,
        check=False,
    )
    printed = "" if shutil.which("npm") else f"{WITHOUT_NPM}\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, printed, "")
