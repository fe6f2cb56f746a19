"""The squirrel with an index in PostgreSQL, where a server is installed."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from ixbackoff.squirrel.commands import Copy, FindCopy, RecordCopy, Resource
from ixbackoff.squirrel.index import Index, IndexBroken, IndexUnavailable
from ixbackoff.testing.web import Origin

from ..support.squirrels import Squirrel, files_below

PASSWORD = "opensaysme"  # noqa: S105
NUTS = Resource("http://localhost/nuts")


def programs() -> Path | None:
    """The folder of the newest server that is installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    on_path = shutil.which("postgres")
    if found:
        return found[-1].parent
    return Path(on_path).resolve().parent if on_path else None


class Server:
    """A PostgreSQL server on loopback, with the user `sesame`."""

    def __init__(self, programs: Path, folder: Path, user: str | None) -> None:
        self.programs = programs
        self.folder = folder
        self.user = user
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.url = f"postgresql+psycopg://sesame:{PASSWORD}@127.0.0.1:{self.port}/postgres"

    def do(self, program: str, *words: str) -> None:
        data = str(self.folder / "data")
        subprocess.run(  # noqa: S603
            [str(self.programs / program), "-D", data, *words],
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            cwd=self.folder,
            user=self.user,
        )

    def make(self) -> None:
        password = self.folder / "password"
        password.write_text(PASSWORD)
        self.do("initdb", "-U", "sesame", "-A", "scram-sha-256", f"--pwfile={password}", "-N")

    def start(self) -> None:
        options = f"-p {self.port} -h 127.0.0.1 -k {self.folder} -F"
        self.do("pg_ctl", "start", "-w", "-l", str(self.folder / "log"), "-o", options)

    def stop(self) -> None:
        self.do("pg_ctl", "stop", "-w", "-m", "immediate")


@pytest.fixture(scope="module")
def server() -> Generator[Server]:
    found = programs()
    if found is None:
        pytest.skip("no PostgreSQL server is installed")
    with tempfile.TemporaryDirectory(prefix="postgresql-") as name:
        user = None
        if os.getuid() == 0:  # a server refuses to be root
            user = "nobody"
            shutil.chown(name, user)
        server = Server(found, Path(name), user)
        server.make()
        server.start()
        yield server
        server.stop()


def test_it_copies_then_it_hits_and_a_change_is_copied_again(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    squirrel = Squirrel(tmp_path / "squirrel", capsys)
    with Origin({"/nuts": b"acorn"}) as origin:
        url = origin.url + "/nuts"
        for content, result in [(b"acorn", "copied"), (b"acorn", "hit"), (b"walnut", "copied")]:
            origin.resources["/nuts"] = content
            ran = squirrel.run(url, "--index", server.url)
            assert (ran.status, ran.results) == (0, [result])
            assert squirrel.objects == {Resource(url).name: content}
        assert files_below(squirrel.folder) == ["objects", f"objects/{Resource(url).name}"]


def test_a_row_is_replaced(server: Server) -> None:
    with Index(server.url) as index, Index(server.url) as other:
        index.record(RecordCopy(NUTS, "v1", Copy("memory://", "key")))
        other.record(RecordCopy(NUTS, "v2", Copy("memory://", "key")))
        assert index.find(FindCopy(NUTS, "v1")) is None
        assert index.find(FindCopy(NUTS, "v2")) == Copy("memory://", "key")


def test_a_server_that_was_away_is_found_again(server: Server) -> None:
    with Index(server.url) as index:
        index.record(RecordCopy(NUTS, "v1", Copy("memory://", "key")))
        server.stop()
        for _ in range(2):
            with pytest.raises(IndexUnavailable) as caught:
                index.find(FindCopy(NUTS, "v1"))
            assert PASSWORD not in str(caught.value)
            assert "sesame" not in str(caught.value)
        server.start()
        assert index.find(FindCopy(NUTS, "v1")) == Copy("memory://", "key")


@pytest.mark.parametrize(
    ("wrong", "right", "failure"),
    [
        (PASSWORD, "whisper", IndexUnavailable),
        ("/postgres", "/missing", IndexUnavailable),
        ("/postgres", "/postgres?nonsense=whisper", IndexBroken),
        ("/postgres", "/postgres?connect_timeout=whisper", IndexBroken),
    ],
)
def test_what_is_wrong_is_told_without_secrets(
    server: Server, wrong: str, right: str, failure: type[Exception]
) -> None:
    with pytest.raises(failure) as caught:
        Index(server.url.replace(wrong, right))
    text = str(caught.value)
    assert f"127.0.0.1:{server.port}/" in text
    assert "its URL" in text
    assert not [secret for secret in ("sesame", PASSWORD, "whisper") if secret in text]


def test_a_table_of_another_kind_is_refused(server: Server) -> None:
    url = f"{server.url}?options=-csearch_path%3Delsewhere"
    with Index(server.url) as index, index.engine.begin() as connection:
        connection.exec_driver_sql("CREATE SCHEMA elsewhere")
        connection.exec_driver_sql("CREATE TABLE elsewhere.copies (name text)")
    with Index(url) as index, pytest.raises(IndexBroken, match="has other columns"):
        index.find(FindCopy(NUTS, "v1"))
