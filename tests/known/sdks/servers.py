"""Servers that the system has, and no package: MariaDB and RabbitMQ, on ports of loopback."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from ...support.servers.ports import free_port

REAL = "/usr/lib/rabbitmq/bin"
"""Where Debian has RabbitMQ itself; the programs in the usual place change the user."""


def run(command: list[str], env: Mapping[str, str], check: bool = True) -> int:
    """Run a command without its output, and return its status."""
    return subprocess.run(command, env=env, capture_output=True, check=check).returncode  # noqa: S603


@contextmanager
def serving(
    command: list[str], folder: Path, env: Mapping[str, str], ready: list[str]
) -> Generator[None]:
    """Run a server in a folder, until its block ends; it serves once `ready` ends well."""
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(  # noqa: S603
            command, cwd=folder, env=env, stdout=log, stderr=log, start_new_session=True
        )
        try:
            end = time.monotonic() + 60
            while run(ready, env, check=False):
                assert server.poll() is None, (folder / "log").read_text()
                assert time.monotonic() < end, (folder / "log").read_text()
                time.sleep(0.1)
            yield
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            server.wait(30)


def program(name: str) -> str:
    """Return the path of a program; skip the tests that need it if the system has none."""
    path = shutil.which(name, path=f"{REAL}:{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
    if path is None:
        pytest.skip(f"{name} is not installed")
    return path


@contextmanager
def mariadb() -> Generator[int]:
    """Run MariaDB; its user `root` has no password, and its user `acorn` the password `sesame`."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        given = ["--no-defaults", f"--datadir={folder / 'data'}", "--user=root"]
        install = [
            program("mariadb-install-db"),
            *given,
            "--auth-root-authentication-method=normal",
        ]
        run(install, os.environ)
        port, at = free_port(), f"--socket={folder / 'socket'}"
        start = [program("mariadbd"), *given, at, f"--port={port}", "--bind-address=127.0.0.1"]
        client = [program("mariadb"), "--no-defaults", at, "--user=root", "--execute"]
        with serving(start, folder, os.environ, [*client, "SELECT 1"]):
            script = (
                "CREATE DATABASE nuts; CREATE TABLE nuts.hoard (id INT PRIMARY KEY, n INT) "
                "ENGINE=InnoDB; INSERT INTO nuts.hoard VALUES (1, 1); "
                "CREATE USER acorn@localhost IDENTIFIED BY 'sesame'; "
                "GRANT ALL ON nuts.* TO acorn@localhost"
            )
            run([*client, script], os.environ)
            yield port


@contextmanager
def rabbitmq() -> Generator[int]:
    """Run RabbitMQ; its user is `guest`, with the password `guest`."""
    with tempfile.TemporaryDirectory() as name:
        folder, port = Path(name), free_port()
        env = {
            **os.environ,
            "HOME": name,
            "RABBITMQ_NODENAME": f"acorn{port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(port),
            "RABBITMQ_DIST_PORT": str(free_port()),
            "ERL_EPMD_PORT": str(free_port()),
            "RABBITMQ_MNESIA_BASE": str(folder / "data"),
            "RABBITMQ_LOG_BASE": str(folder),
            "RABBITMQ_PID_FILE": str(folder / "pid"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
        }
        control = program("rabbitmqctl")
        ready = [control, "await_startup", "--timeout", "5"]
        try:
            with serving([program("rabbitmq-server")], folder, env, ready):
                yield port
        finally:  # Erlang's register of nodes is a process of its own
            run([program("epmd"), "-port", env["ERL_EPMD_PORT"], "-kill"], env, check=False)
