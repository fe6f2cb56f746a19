"""The tests on each supported Python: pyenv's where there are any, else the one that runs this."""

import os
import sys
from pathlib import Path

import nox

SUPPORTED = ("3.11", "3.12", "3.13")
PYENV = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"


def found() -> list[str]:
    """The newest of each supported version below pyenv, or this very Python."""
    pythons = [
        str(max(folders) / "bin" / "python")
        for version in SUPPORTED
        if (folders := list(PYENV.glob(f"{version}.*")))
    ]
    return pythons or [sys.executable]


@nox.session(python=found(), venv_backend="venv")
def tests(session: nox.Session) -> None:
    """Everything, as `make test` runs it."""
    session.install("--editable", ".[dev]")
    session.run("python", "-m", "pytest", *session.posargs)
