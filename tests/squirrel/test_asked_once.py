"""What is not kept is asked for once: the answer tells the ETag, and its body is fetched."""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from io import FileIO
from pathlib import Path

import pytest

from ixbackoff import NotReady
from ixbackoff.live import Connections, file_primitives
from ixbackoff.live.resumable_downloads import OVERLAP
from ixbackoff.squirrel.commands import Brought, Fetch, ListObjects, Resource, Stored
from ixbackoff.squirrel.fetched_files import FetchedFiles
from ixbackoff.squirrel.handlers import Handlers
from ixbackoff.squirrel.index import Index
from ixbackoff.squirrel.progress_display import Display
from ixbackoff.testing.web import Document, Origin, Truncated

from ..support.servers.keeping import BODY, Keeper, keeping
from ..support.squirrels.running import Squirrel, files_below, tidy

LARGE = bytes(range(256)) * 4000


@pytest.fixture
def squirrel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Squirrel:
    return Squirrel(tmp_path / "squirrel", capsys)


def methods(origin: Origin) -> list[str]:
    return [request.method for request in origin.requests]


@pytest.mark.parametrize("etag", ['"v1"', None])
def test_one_request_for_what_is_not_kept(etag: str | None, squirrel: Squirrel) -> None:
    with Origin({"/nuts": Document(LARGE, etag=etag)}) as origin:
        url = origin.url + "/nuts"
        assert squirrel.run(url).results == ["copied"]
        assert methods(origin) == ["GET"]
        assert squirrel.run(url).results == ["hit" if etag else "copied"]
        assert methods(origin) == ["GET", "HEAD", *([] if etag else ["GET"])]
    assert files_below(squirrel.folder) == tidy(url)


def test_what_has_arrived_before_is_gone_on_with(squirrel: Squirrel) -> None:
    with Origin({"/nuts": LARGE}, {"GET /nuts": [Truncated(after=100_000)]}) as origin:
        assert squirrel.run(origin.url + "/nuts").tries == [2]
        assert methods(origin) == ["GET", "HEAD", "GET"]
        assert origin.requests[-1].headers["range"] == f"bytes={100_000 - OVERLAP}-"
    assert list(squirrel.objects.values()) == [LARGE]


def test_what_is_recorded_is_the_answer_that_brought_the_bytes(
    squirrel: Squirrel, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch = FetchedFiles.fetch
    with Origin({"/nuts": Document(b"one", etag='"v1"')}) as origin:

        def changed(files: FetchedFiles, command: Fetch) -> Brought:
            origin.resources["/nuts"] = Document(b"two", etag='"v2"')
            return fetch(files, command)

        monkeypatch.setattr(FetchedFiles, "fetch", changed)
        for etag, body in (('"v1"', b"one"), ('"v2"', b"two")):
            assert squirrel.run(origin.url + "/nuts").results == ["copied"]
            assert squirrel.rows[0].etag == etag
            assert list(squirrel.objects.values()) == [body]
        assert squirrel.run(origin.url + "/nuts").results == ["hit"]


def test_a_body_that_another_squirrel_has_fetched_meanwhile_is_left(
    squirrel: Squirrel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Index, "has", lambda *_: False)
    with Origin({"/nuts": LARGE}) as origin:
        url = origin.url + "/nuts"
        assert [squirrel.run(url).results for _ in range(2)] == [["copied"], ["hit"]]
        assert methods(origin) == ["GET", "GET"]
    assert files_below(squirrel.folder) == tidy(url)


def test_no_body_is_left_waiting_while_the_squirrel_waits(
    squirrel: Squirrel, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed, failures, open_ones = Handlers.list_objects, [NotReady()], list[int]()

    def fails_once(handlers: Handlers, command: ListObjects) -> tuple[Stored, ...]:
        if failures:
            raise failures.pop()
        return listed(handlers, command)

    monkeypatch.setattr(Handlers, "list_objects", fails_once)
    with keeping() as server:

        def waiting(*_: object) -> None:
            end = time.monotonic() + 5.0
            while server.open and time.monotonic() < end:
                time.sleep(0.005)
            open_ones.append(server.open)

        monkeypatch.setattr(Display, "wait", waiting)
        assert squirrel.run(f"{server.url}/slow").tries == [2]
    assert open_ones == [0]
    assert list(squirrel.objects.values()) == [BODY]


@pytest.fixture
def server() -> Generator[Keeper]:
    with keeping() as server:
        yield server


def test_each_way_to_leave_a_body_ends_its_connection(server: Keeper, tmp_path: Path) -> None:
    with Connections() as connections:
        files, nuts = FetchedFiles(connections), Resource(f"{server.url}/slow")
        assert files.ask(nuts) == '"acorn"'
        assert files.ask(nuts) == '"acorn"'
        assert files.fetch(Fetch(nuts, '"other"', str(tmp_path))).etag == '"acorn"'
        assert server.opened == 3, "one that is asked for again, one of another ETag, and the last"
        assert files.ask(nuts) == '"acorn"'
        files.release(nuts, str(tmp_path), kept=True)
        assert not files._responses
    assert list(tmp_path.iterdir()) == []


def test_a_file_whose_name_another_squirrel_has_taken_is_separated_once_that_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlink, taken = file_primitives.unlink, list[FileIO]()

    def taking(path: str) -> None:
        unlink(path)
        taken.append(file_primitives.opened(path, file_primitives.CREATE))
        file_primitives.lock(taken[0].fileno())

    stored, folder = tmp_path / "stored", tmp_path / "folder"
    folder.mkdir()
    with Origin({"/nuts": Document(BODY, etag='"v1"')}) as origin, Connections() as opened:
        files, nuts = FetchedFiles(opened), Resource(f"{origin.url}/nuts")
        first = files.fetch(Fetch(nuts, None, str(folder)))
        os.link(first.path, stored)
        with monkeypatch.context() as patched:
            patched.setattr(file_primitives, "unlink", taking)
            with pytest.raises(NotReady):
                files.fetch(Fetch(nuts, '"v2"', str(folder)))
        with pytest.raises(NotReady):
            files.fetch(Fetch(nuts, '"v2"', str(folder)))
        unlink(first.path)
        taken[0].close()
        assert Path(files.fetch(Fetch(nuts, '"v2"', str(folder))).path).read_bytes() == BODY
        files.release(nuts, str(folder), kept=True)
    assert stored.read_bytes() == BODY
    assert list(folder.iterdir()) == []


def test_a_file_that_could_not_be_separated_is_not_written_into_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: str) -> None:
        raise PermissionError(path)

    stored, folder = tmp_path / "stored", tmp_path / "folder"
    folder.mkdir()
    with Origin({"/nuts": Document(b"one" * 1000, etag='"v1"')}) as origin, Connections() as opened:
        files, nuts = FetchedFiles(opened), Resource(f"{origin.url}/nuts")
        os.link(files.fetch(Fetch(nuts, None, str(folder))).path, stored)
        origin.resources["/nuts"] = Document(b"two" * 1000, etag='"v2"')
        with monkeypatch.context() as patched:
            patched.setattr(file_primitives, "unlink", refused)
            with pytest.raises(PermissionError):
                files.fetch(Fetch(nuts, '"v2"', str(folder)))
        again = files.fetch(Fetch(nuts, '"v2"', str(folder)))
        assert Path(again.path).read_bytes() == b"two" * 1000
        assert stored.read_bytes() == b"one" * 1000
        files.release(nuts, str(folder), kept=True)
