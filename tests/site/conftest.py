"""The site, built once for all tests that look at it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site, strictly; a warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    words = ["--builder=html", "--fail-on-warning", "--nitpicky", "--quiet"]
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "sphinx", *words, DOCS, folder / "html", "-d", folder / "trees"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return folder / "html"
