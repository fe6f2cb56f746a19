"""Files that were fetched and become objects: on the disk before the record, and never changed."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ixbackoff import NotReady
from ixbackoff.live.part_files import PartFile, PartOrigin
from ixbackoff.live.resumable_downloads import OVERLAP
from ixbackoff.squirrel.commands import Brought, Fetch, Resource, Swap
from ixbackoff.squirrel.fetched_files import FOLDER, FetchedFiles
from ixbackoff.squirrel.index import Index
from ixbackoff.testing.web import Document, Origin

from ..support.squirrels.running import Squirrel, files_below, tidy

OLD = bytes(range(256)) * 1000
NEW = bytes(reversed(range(256))) * 1100

pytestmark = pytest.mark.skipif(
    not hasattr(os, "listxattr"), reason="what a file gets from its folder is not known here"
)


@pytest.fixture
def squirrel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Squirrel:
    return Squirrel(tmp_path / "squirrel", capsys)


@pytest.fixture
def links(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that got a second name."""
    linked: list[str] = []
    link = os.link

    def noted(source: str, path: str) -> None:
        link(source, path)
        linked.append(os.path.basename(source))

    monkeypatch.setattr(os, "link", noted)
    return linked


def test_the_bytes_are_on_the_disk_then_the_name_and_then_the_record(
    squirrel: Squirrel, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def recorded(place: Any, name: str, told: Callable[..., str]) -> None:
        carry_out: Callable[..., Any] = getattr(place, name)

        def record(*given: Any) -> Any:
            done.append(told(*given))
            return carry_out(*given)

        monkeypatch.setattr(place, name, record)

    with Origin({"/nuts": OLD}) as origin:
        url = origin.url + "/nuts"
        recorded(os, "fsync", lambda file: "sync " + os.readlink(f"/proc/self/fd/{file}"))
        recorded(os, "link", lambda _, path: f"link {path}")
        recorded(Index, "swap", lambda _, command: f"record {command.copy.key}")
        assert squirrel.run(url).results == ["copied"]
        key = squirrel.rows[0].key
    objects = squirrel.folder / "objects"
    part = squirrel.folder / FOLDER / f".{Resource(url).name}.part"
    ours = [f"sync {part}", f"link {objects / key}", f"sync {(objects / key).parent}"]
    assert done[done.index(ours[0]) :][:4] == [*ours, f"record {key}"]
    assert (objects / key).stat().st_nlink == 1


def test_a_folder_that_another_one_has_removed_meanwhile_is_made_again(
    squirrel: Squirrel, monkeypatch: pytest.MonkeyPatch
) -> None:
    link, removed = os.link, list[str]()

    def too_late(source: str, path: str) -> None:
        if not removed:
            removed.append(os.path.dirname(path))
            os.rmdir(removed[0])
        link(source, path)

    monkeypatch.setattr(os, "link", too_late)
    with Origin({"/nuts": OLD}) as origin:
        ran = squirrel.run(origin.url + "/nuts")
    assert (ran.results, ran.tries) == (["copied"], [2])
    assert "another squirrel has removed the folder of the object" in ran.err
    assert files_below(squirrel.folder) == tidy(origin.url + "/nuts")


class Lost:
    """An index whose answers to the first swaps get lost; each swap is done.

    Args:
        answers: how many get lost.
        then: called when one was lost.
    """

    def __init__(self, answers: int, then: Callable[[], None]) -> None:
        self.answers = answers
        self.then = then
        self.keys: list[str] = []

    def swapping(self) -> Callable[[Index, Swap], bool]:
        swap = Index.swap

        def swapped(index: Index, command: Swap) -> bool:
            done = swap(index, command)
            self.keys.append(command.copy.key)
            if len(self.keys) <= self.answers:
                self.then()
                raise NotReady("the answer got lost")
            return done

        return swapped


@pytest.mark.parametrize("changes", [True, False], ids=["changed", "going on"])
def test_an_object_is_not_changed_by_what_is_fetched_later(
    changes: bool, squirrel: Squirrel, monkeypatch: pytest.MonkeyPatch, links: list[str]
) -> None:
    dated = Document(OLD, etag=None, headers={"Last-Modified": "Fri, 01 Jan 2010 00:00:00 GMT"})
    later = Document(NEW) if changes else dated
    with Origin({"/nuts": Document(OLD) if changes else dated}) as origin:
        url = origin.url + "/nuts"
        lost = Lost(1, lambda: origin.resources.update({"/nuts": later}))
        fetch = FetchedFiles.fetch

        def fetched(files: FetchedFiles, command: Fetch) -> Brought:
            brought = fetch(files, command)
            for key in lost.keys:
                kept = squirrel.folder / "objects" / key
                assert kept.read_bytes() == OLD
                assert not kept.samefile(brought.path)
            return brought

        monkeypatch.setattr(FetchedFiles, "fetch", fetched)
        monkeypatch.setattr(Index, "swap", lost.swapping())
        assert squirrel.run(url).results == ["copied"]
        assert squirrel.objects == {Resource(url).name: NEW if changes else OLD}
        assert len(links) == 2
        assert files_below(squirrel.folder) == tidy(url)
        assert origin.requests[-1].headers["range"] == f"bytes={max(0, len(OLD) - OVERLAP)}-"


def test_a_later_run_goes_on_with_a_file_that_became_an_object(
    squirrel: Squirrel, monkeypatch: pytest.MonkeyPatch, links: list[str]
) -> None:
    def failed(index: Index, command: Swap) -> bool:
        raise ConnectionError("the index is gone")

    with Origin({"/nuts": OLD}) as origin:
        url = origin.url + "/nuts"
        with monkeypatch.context() as broken:
            broken.setattr(Index, "swap", failed)
            assert squirrel.run(url).status == 1
        (part,) = (squirrel.folder / FOLDER).glob("*.part")
        assert (part.read_bytes(), part.stat().st_nlink) == (OLD, 1)
        assert len(links) == 4
        assert origin.counts["GET /nuts"] == 1
        assert squirrel.run(url).results == ["copied"]
        assert origin.requests[-1].headers["range"] == f"bytes={max(0, len(OLD) - OVERLAP)}-"
        assert squirrel.objects == {Resource(url).name: OLD}
        assert files_below(squirrel.folder) == tidy(url)


def test_a_part_of_a_dead_squirrel_that_is_an_object_is_not_written_to(tmp_path: Path) -> None:
    with PartFile(str(tmp_path / "a")) as part:
        part.begin(PartOrigin("source", '"v1"', len(OLD)))
        part.write(OLD)
    os.link(part.part, tmp_path / "object")
    with PartFile(str(tmp_path / "a")) as again:
        assert again.size == 0
        again.begin(None)
        again.write(NEW)
    assert (tmp_path / "object").read_bytes() == OLD


def elsewhere(source: str, path: str) -> None:
    raise OSError(errno.EXDEV, "Invalid cross-device link")


@pytest.mark.parametrize("link", [elsewhere, os.symlink], ids=["none", "of another kind"])
def test_where_files_cannot_have_two_names_they_are_copied(
    link: Callable[[str, str], object], squirrel: Squirrel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "link", link)
    with Origin({"/nuts": OLD}) as origin:
        assert squirrel.run(origin.url + "/nuts").results == ["copied"]
        assert squirrel.objects == {Resource(origin.url + "/nuts").name: OLD}
        assert files_below(squirrel.folder) == tidy(origin.url + "/nuts")


def test_a_copy_is_made_for_a_folder_that_hands_down_other_rights(
    squirrel: Squirrel, links: list[str]
) -> None:
    store = squirrel.folder / "objects"
    store.mkdir(parents=True)
    store.chmod(0o2755)
    with Origin({"/nuts": OLD}) as origin:
        assert squirrel.run(origin.url + "/nuts").results == ["copied"]
        assert squirrel.objects == {Resource(origin.url + "/nuts").name: OLD}
    assert links == []


def test_an_object_looks_as_if_it_had_been_copied(
    squirrel: Squirrel, tmp_path: Path, links: list[str]
) -> None:
    with Origin({"/nuts": OLD, "/acorns": OLD}) as origin:
        first, second = origin.url + "/nuts", origin.url + "/acorns"
        squirrel.run(first)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(os, "link", elsewhere)
            squirrel.run(second)
    linked, copied = sorted((squirrel.folder / "objects").glob("*/*"), key=os.path.getctime)
    assert len(links) == 1
    for attribute in ("st_mode", "st_uid", "st_gid", "st_nlink", "st_size"):
        assert getattr(linked.stat(), attribute) == getattr(copied.stat(), attribute)
