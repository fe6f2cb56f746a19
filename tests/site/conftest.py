"""The site, built once for all tests that look at it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
WITHOUT_NPM = "The site is built without its playground: npm is not installed."


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site, strictly; a warning is an error. Only without npm it has no playground."""
    folder = tmp_path_factory.mktemp("site")
    words = ["--builder=html", "--fail-on-warning", "--nitpicky", "--quiet"]
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "sphinx", *words, DOCS, folder / "html", "-d", folder / "trees"],
        capture_output=True,
        text=True,
        check=False,
    )
    printed = "" if shutil.which("npm") else f"{WITHOUT_NPM}\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, printed, "")
    return folder / "html"
