"""The squirrel given what it cannot use: one clear sentence, and nothing left behind."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from ixbackoff.squirrel.commands import Resource
from ixbackoff.testing.web import Origin

from ..support.squirrels.running import Ran, Squirrel, files_below, tidy

NUTS = "http://127.0.0.1:1/nuts"
ACORN = b"acorn" * 50_000


@pytest.fixture
def squirrel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Squirrel:
    return Squirrel(tmp_path / "squirrel", capsys)


def check_refused(ran: Ran, squirrel: Squirrel, *words: str) -> None:
    """One sentence says all the words, and nothing is left behind."""
    told = ran.err.splitlines()
    assert (ran.status, ran.out) == (2, "")
    assert "Traceback" not in ran.err
    assert told[-1].endswith(".")
    assert [line for line in told[:-1] if "; on N" not in line] == []
    assert [word for word in words if word not in told[-1]] == []
    assert not squirrel.folder.exists()


@pytest.mark.parametrize(
    "url",
    [
        "ftp://localhost/nuts",
        "file:///etc/passwd",
        "nuts and acorns",
        "",
        "http://",
        "http:///nuts",
        "http://localhost:99999/nuts",
        "http://localhost:port/nuts",
        "http://[::1/nuts",
    ],
)
def test_a_url_that_is_not_http(url: str, squirrel: Squirrel) -> None:
    words = (repr(url), "http://host/path")
    check_refused(squirrel.run(NUTS, url), squirrel, *words)


@pytest.mark.parametrize("words", [[], ["--demo", NUTS]], ids=["nothing", "demo and a URL"])
def test_a_command_that_names_no_resources(words: list[str], squirrel: Squirrel) -> None:
    check_refused(squirrel.run(*words), squirrel, "give the URLs of the resources", "--demo")


@pytest.mark.parametrize(
    "store",
    [
        "ftp://localhost/folder",
        "relative/folder",
        "s3://",
        "s3:///prefix",
        "s3://sesame@bucket",
        "s3://bucket?region=x",
        "file:///",
        "file://elsewhere/folder",
        "memory:",
    ],
)
def test_an_unknown_store(store: str, squirrel: Squirrel) -> None:
    ran = squirrel.run(NUTS, "--store", store)
    check_refused(
        ran, squirrel, "does not name a store", "file:///folder, memory:// or s3://bucket/prefix"
    )


@pytest.mark.parametrize(
    "index",
    [
        "nonsense",
        "mysql://localhost/database",
        "sqlite://host/file",
        "sqlite:///file?timeout=long",
        "postgresql+psycopg2://localhost/database",
        "postgresql://localhost:port/database",
    ],
)
def test_an_unknown_index(index: str, squirrel: Squirrel) -> None:
    words = ("sqlite:///file", "postgresql+psycopg://user:password@host/database")
    check_refused(squirrel.run(NUTS, "--index", index), squirrel, *words)


def test_an_index_that_is_not_there(squirrel: Squirrel) -> None:
    index = "postgresql://sesame:opensaysme@127.0.0.1:1/database"
    ran = squirrel.run(NUTS, "--index", index)
    check_refused(ran, squirrel, "127.0.0.1:1/database", "look at the host, user and password")
    assert len(ran.err.splitlines()) == 4


def test_an_index_that_is_not_a_database(squirrel: Squirrel, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("This is not a database. " * 100)
    ran = squirrel.run(NUTS, "--index", f"sqlite:///{file}")
    check_refused(ran, squirrel, str(file), "not an SQLite database", "give another one")
    assert file.read_text() == "This is not a database. " * 100


def test_an_index_of_another_kind(squirrel: Squirrel, tmp_path: Path) -> None:
    file = tmp_path / "file"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE copies (year INTEGER, count INTEGER)")
    with Origin({"/nuts": ACORN}) as origin:
        ran = squirrel.run(origin.url + "/nuts", "--index", f"sqlite:///{file}")
    assert (ran.status, ran.tries) == (1, [1])
    assert "its table copies has other columns" in ran.out
    assert not squirrel.folder.exists()


@pytest.mark.parametrize(
    "place", ["{file}/index", "{folder}/missing/index", "/proc/index", "{folder}"]
)
def test_an_index_that_cannot_be_made(place: str, squirrel: Squirrel, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    place = place.format(file=tmp_path / "file", folder=tmp_path)
    ran = squirrel.run(NUTS, "--index", f"sqlite:///{place}")
    check_refused(ran, squirrel, place, "look at its folder")
    assert files_below(tmp_path) == ["file"]


@pytest.mark.parametrize("place", ["{file}", "{file}/folder", "/proc/folder", "{new}/../file/a"])
@pytest.mark.parametrize("what", ["--folder", "--store"])
def test_a_folder_that_cannot_be_made(
    place: str, what: str, squirrel: Squirrel, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    named = "/proc/folder" if place.startswith("/proc") else f"{tmp_path}/"
    place = place.format(file=tmp_path / "file", new=tmp_path / "new")
    if what == "--store":
        ran = squirrel.run(NUTS, "--store", f"file://{place}")
    else:
        ran = replace(squirrel, folder=Path(place)).run(NUTS)
    check_refused(ran, squirrel, named, "give a folder to write to")
    assert files_below(tmp_path) == ["file"]


@pytest.mark.parametrize("base", ["-1", "0", "nan", "inf", "1e300", "soon", ""])
def test_a_base_that_is_not_a_time(base: str, squirrel: Squirrel) -> None:
    words = "--base", "give a number, 0.001 to 86400"
    check_refused(squirrel.run(NUTS, base=base), squirrel, *words)


@pytest.mark.parametrize("store", [[], ["--store", "memory://"]])
def test_an_endpoint_without_s3(store: list[str], squirrel: Squirrel) -> None:
    ran = squirrel.run(NUTS, *store, "--endpoint", "http://localhost:9000")
    check_refused(ran, squirrel, "--endpoint", "--store s3://bucket/prefix")


def test_an_endpoint_that_is_not_a_url(squirrel: Squirrel, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = squirrel.run(NUTS, "--store", "s3://bucket", "--endpoint", "localhost:9000")
    check_refused(ran, squirrel, "localhost:9000", "http://")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "localhost:9000")
    ran = squirrel.run(NUTS, "--store", "s3://bucket")
    check_refused(ran, squirrel, "localhost:9000", "http://")


@pytest.mark.parametrize("package", ["httpx2", "obstore", "rich"])
def test_a_missing_package(
    package: str, squirrel: Squirrel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    check_refused(squirrel.run(NUTS), squirrel, package, "pip install 'ixbackoff[squirrel]'")


def test_a_missing_driver(squirrel: Squirrel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    ran = squirrel.run(NUTS, "--index", "postgresql://localhost/database")
    check_refused(ran, squirrel, "pip install 'ixbackoff[postgresql]'")


@pytest.mark.slow
def test_a_full_disk(squirrel: Squirrel) -> None:
    program = """
import resource, sys
from ixbackoff.squirrel.squirrel_command import main
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
sys.exit(main())
"""
    with Origin({"/nuts": ACORN, "/small": b"acorn"}) as origin:
        urls = [origin.url + path for path in ("/nuts", "/small")]
        words = [sys.executable, "-c", program, *urls, "--folder", str(squirrel.folder)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603
        ran = Ran(done.returncode, done.stdout, done.stderr)
        assert (ran.status, ran.tries, ran.err) == (1, [1, 1], "")
        assert "File too large" in ran.results[0]
        assert ran.results[1] == "copied"
        assert files_below(squirrel.folder) == tidy(urls[1])
        assert squirrel.run(*urls).results == ["copied", "hit"]
        assert squirrel.objects == {
            Resource(urls[0]).name: ACORN,
            Resource(urls[1]).name: b"acorn",
        }
