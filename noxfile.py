"""The tests on each supported Python that pyenv has, or else on the Python that runs this."""

import os
import sys
from pathlib import Path

import nox

SUPPORTED = ("3.11", "3.12", "3.13")
PYENV = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"


def installed() -> list[str]:
    """Return the newest Python of each supported version in pyenv, or else this Python."""
    pythons = [
        str(max(folders) / "bin" / "python")
        for version in SUPPORTED
        if (folders := list(PYENV.glob(f"{version}.*")))
    ]
    return pythons or [sys.executable]


@nox.session(python=installed(), venv_backend="venv")
def tests(session: nox.Session) -> None:
    """Run everything that `make test` runs."""
    session.install("--editable", ".[dev]")
    workers = ("--numprocesses=2", "--dist=loadfile", "--no-loadscope-reorder")
    session.run("python", "-m", "pytest", *workers, *session.posargs)
