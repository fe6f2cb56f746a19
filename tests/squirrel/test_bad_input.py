"""The squirrel given what it cannot use: one clear sentence, and nothing left behind."""

from __future__ import annotations

import os
import shlex
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ixbackoff.squirrel.commands import Resource
from ixbackoff.squirrel.index import TABLES
from ixbackoff.testing.web import Origin

from ..support.squirrels.running import Ran, Squirrel, files_below, tidy

NUTS = "http://127.0.0.1:1/nuts"
ACORN = b"acorn" * 50_000
ROOT = Path(__file__).parents[2]


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


@pytest.mark.parametrize("table", TABLES)
def test_an_index_of_another_kind(table: str, squirrel: Squirrel, tmp_path: Path) -> None:
    file = tmp_path / "file"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"CREATE TABLE {table} (year INTEGER, count INTEGER)")
    before = file.read_bytes()
    ran = squirrel.run(NUTS, "--index", f"sqlite:///{file}")
    check_refused(ran, squirrel, "one of its tables has other columns")
    assert file.read_bytes() == before
    assert os.listdir(tmp_path) == ["file"]


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
    words = "--base", "give seconds, 0.001 to 86400"
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
    check_refused(
        squirrel.run(NUTS),
        squirrel,
        package,
        "pip install '.[squirrel]' in a checkout of ixbackoff",
    )


def test_a_missing_driver(squirrel: Squirrel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    ran = squirrel.run(NUTS, "--index", "postgresql://localhost/database")
    check_refused(ran, squirrel, "pip install '.[postgresql]' in a checkout of ixbackoff")


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


def begun(
    folder: Path, *words: str, before: str = "", **how: Any
) -> subprocess.CompletedProcess[str]:
    """A squirrel in a process of its own, in a shell that has run other commands before."""
    program = [sys.executable, "-m", "ixbackoff", "squirrel", "--base", "0.001", *words]
    command = f"{before}; exec {shlex.join([*program, '--folder', str(folder)])}".lstrip("; ")
    return subprocess.run(  # noqa: S602
        command, shell=True, capture_output=True, cwd=ROOT, encoding="utf-8", timeout=60, **how
    )


posix = pytest.mark.skipif(os.name == "nt", reason="the command is one of a shell")


@posix
def test_a_closed_standard_input_is_told(tmp_path: Path) -> None:
    ran = begun(tmp_path / "squirrel", "--input", "-", before="exec <&-")
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1)
    assert "The standard input is closed: give --input a file" in ran.stderr


@posix
def test_a_line_without_an_end_is_told(tmp_path: Path) -> None:
    ran = begun(tmp_path / "squirrel", "--input", "-", before="exec </dev/zero")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "-, line 1 is too long: give one URL a line.\n"


@posix
@pytest.mark.skipif(sys.platform != "linux", reason="other systems bound memory otherwise")
def test_threads_that_cannot_be_started_are_told(tmp_path: Path) -> None:
    (tmp_path / "urls").write_text("".join(f"{NUTS}/{number}\n" for number in range(300)))
    words = ["--input", str(tmp_path / "urls"), "--jobs", "256"]
    ran = begun(tmp_path / "squirrel", *words, before="ulimit -v 500000")
    told = [line for line in ran.stderr.splitlines() if "; on N" not in line]
    assert (ran.returncode, len(told)) == (2, 1), ran.stderr
    assert told[0].startswith("The system starts no more threads: give fewer --jobs")


@posix
@pytest.mark.parametrize("listed", [False, True], ids=["table", "lines"])
def test_what_the_encoding_of_the_output_lacks_is_escaped(listed: bool, tmp_path: Path) -> None:
    url = f"{NUTS}/é—"
    words = ["--input", "-"] if listed else [url]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    ran = begun(tmp_path / "squirrel", *words, input=f"{url}\n", env=environment)
    assert ran.returncode == 1
    assert "/nuts/\\xe9\\u2014" in ran.stdout
    assert "codec" not in ran.stdout + ran.stderr


def test_a_long_url_is_shortened_in_the_log(
    squirrel: Squirrel, caplog: pytest.LogCaptureFixture
) -> None:
    ran = squirrel.run(f"{NUTS}/{'a' * 60_000}")
    assert ran.status == 1
    assert len(caplog.text) + len(ran.out) + len(ran.err) < 60_000
    assert "..." in caplog.text
