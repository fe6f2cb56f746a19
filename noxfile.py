"""The tests on each supported Python that pyenv has, or else on the Python that runs this.

`nox` runs them. `nox -s sdks frameworks` runs those that need environments of their own.
"""

import os
import shutil
import sys
from pathlib import Path

import nox

SUPPORTED = ("3.11", "3.12", "3.13")
SERVERS = ("mariadbd", "rabbitmq-server")
"""Servers of the system that some tests of SDKs need, since no package has them."""

nox.options.sessions = ["tests"]
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


@nox.session(python=installed()[:1], venv_backend="venv")
def sdks(session: nox.Session) -> None:
    """Run the SDKs of web services, models, databases and brokers against servers that fail."""
    folders = f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin"
    for server in SERVERS:
        if shutil.which(server, path=folders) is None:
            session.warn(f"{server} is not installed: the tests that need it are skipped.")
    session.install("--editable", ".[sdks]")
    session.install("--no-deps", "aioboto3>=15.5,<16", "aiofiles>=24")  # aioboto3 excludes litellm
    parallel = ("--numprocesses=2", "--dist=loadfile")
    session.run("python", "-m", "pytest", "tests/known/sdks", *parallel, *session.posargs)
    session.run("python", "-m", "tests.known.sdks.versions")
    session.install("openai>=3,<4")  # litellm excludes it
    models = ("openai_and_anthropic", "language_models")
    session.run("python", "-m", "pytest", *(f"tests/known/sdks/test_{name}.py" for name in models))
    session.run("python", "-m", "tests.known.sdks.versions")


@nox.session(python=installed()[:1], venv_backend="venv")
def frameworks(session: nox.Session) -> None:
    """Run the recipes for frameworks."""
    session.install("--editable", ".[frameworks]")
    session.run("python", "-m", "pytest", "tests/frameworks", *session.posargs)
