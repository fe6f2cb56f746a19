"""Links and files that somebody planted where the squirrel works: none leads it to other files."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ixbackoff.live.safe_removal import check_own
from ixbackoff.squirrel.commands import Resource
from ixbackoff.squirrel.durable_workflow import digest, id_of, workflow_for
from ixbackoff.squirrel.durably import database_of, place_of
from ixbackoff.squirrel.fetched_files import FOLDER
from ixbackoff.squirrel.file_seals import PREFIX, SEAL, FileGone, check_sealed, seal
from ixbackoff.testing.web import Origin

from ..support.squirrels.running import Squirrel, files_below

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows lets few users make links")

NUTS = "http://127.0.0.1:1/nuts"
ACORN = b"acorn" * 10_000
NAME = "5f1b7b0e-3c1d-5a57-9d53-000000000000"
OURS = [f".{NAME}.part", f".{NAME}.part.json", f".{NAME}~{'0' * 32}.part"]
A_CLAIM = "INSERT INTO claims VALUES (:place, :key, :name, 0)"
NO_TEXT = "INSERT INTO claims VALUES (:place, CAST(x'ff' AS TEXT), :name, 0)"
A_COPY = "UPDATE copies SET key = :key"
THEIRS = ["letter", "letter~", ".letter.part", f"{NAME}.part", f".{NAME}.part.txt"]


@pytest.fixture
def squirrel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Squirrel:
    return Squirrel(tmp_path / "squirrel", capsys)


@pytest.fixture
def letters(tmp_path: Path) -> Path:
    """A user's folder with old files, some in a folder of their own."""
    folder = tmp_path / "letters"
    filled(folder)
    filled(folder / "more-0123456789ab")
    return folder


def filled(folder: Path) -> None:
    folder.mkdir(parents=True)
    for name in OURS + THEIRS:
        (folder / name).write_text("dear")
        os.utime(folder / name, (0, 0))


def home_of(squirrel: Squirrel) -> Path:
    """The folder of durable runs."""
    return squirrel.folder / f"{PREFIX}{digest(place_of(database_of(squirrel.folder)))}"


@pytest.mark.parametrize("durable", [False, True], ids=["plain", "durable"])
def test_a_link_in_the_place_of_a_folder_is_refused(
    durable: bool, squirrel: Squirrel, letters: Path
) -> None:
    squirrel.folder.mkdir()
    place = home_of(squirrel) if durable else squirrel.folder / FOLDER
    place.symlink_to(letters)
    before = files_below(letters)
    ran = squirrel.run(*["--durable"][: int(durable)], NUTS)
    assert files_below(letters) == before
    assert (ran.status, ran.err.count("\n")) == (2, 1)
    assert f"{place} cannot be used (It is a link" in ran.err


def test_only_names_of_its_own_are_removed(squirrel: Squirrel) -> None:
    filled(squirrel.folder / FOLDER)
    with Origin({"/nuts": ACORN}) as origin:
        assert squirrel.run(f"{origin.url}/nuts").status == 0
    assert sorted(os.listdir(squirrel.folder / FOLDER)) == sorted(THEIRS)


def test_only_folders_and_names_of_its_own_are_removed_from_durable_runs(
    squirrel: Squirrel,
) -> None:
    home = home_of(squirrel)
    for folder in ("localhost-0123456789ab", "letters", "-0123456789ab-2038"):
        filled(home / folder)
    with Origin({"/nuts": ACORN}) as origin:
        assert squirrel.run("--durable", f"{origin.url}/nuts").status == 0
    assert sorted(os.listdir(home / "localhost-0123456789ab")) == sorted(THEIRS)
    assert sorted(os.listdir(home / "letters")) == sorted(OURS + THEIRS)
    assert sorted(os.listdir(home / "-0123456789ab-2038")) == sorted(OURS + THEIRS)


def test_a_link_in_the_place_of_a_runs_folder_is_neither_followed_nor_emptied(
    squirrel: Squirrel, letters: Path
) -> None:
    before = files_below(letters)
    with Origin({"/nuts": ACORN}) as origin:
        url = f"{origin.url}/nuts"
        squirrel.folder.mkdir()
        index = place_of(squirrel.folder / "index.sqlite")
        store = (squirrel.folder / "objects").as_uri()
        run = id_of(Resource(url), workflow_for(f"{store} {index}").name, 1)
        home_of(squirrel).mkdir()
        for name in (run, "localhost-0123456789ab"):
            (home_of(squirrel) / name).symlink_to(letters)
        ran = squirrel.run("--durable", url)
    assert files_below(letters) == before
    assert ran.status == 1
    assert "It is a link" in ran.out + ran.err


def test_a_link_in_the_place_of_a_lock_is_refused(squirrel: Squirrel, letters: Path) -> None:
    squirrel.folder.mkdir()
    letter = letters / "letter"
    lock = squirrel.folder / "runs.sqlite.worker"
    lock.symlink_to(letter)
    ran = squirrel.run("--durable", NUTS)
    assert (ran.status, letter.read_text()) == (2, "dear")
    assert ran.err == f"{lock} is a link, which may lead to any file: remove it.\n"


def test_a_link_in_the_place_of_a_seal_is_replaced(tmp_path: Path, letters: Path) -> None:
    fetched = tmp_path / "fetched"
    fetched.write_bytes(ACORN)
    Path(f"{fetched}{SEAL}").symlink_to(letters / "letter")
    seal(str(fetched))
    check_sealed(str(fetched))
    assert (letters / "letter").read_text() == "dear"


PLANTED: dict[str, Callable[[str], object]] = {
    "a pipe": lambda path: os.mkfifo(path),
    "a folder": os.mkdir,
    "a link to itself": lambda path: os.symlink(path, path),
    "no text": lambda path: Path(path).write_bytes(b"\xff"),
    "a second name": lambda path: os.link(f"{path}.own", path),
}


@pytest.mark.parametrize("plant", PLANTED.values(), ids=PLANTED)
def test_nothing_else_is_taken_for_a_seal(plant: Callable[[str], object], tmp_path: Path) -> None:
    fetched = tmp_path / "fetched"
    fetched.write_bytes(ACORN)
    seal(str(fetched))
    Path(f"{fetched}{SEAL}").rename(f"{fetched}{SEAL}.own")
    plant(f"{fetched}{SEAL}")
    with pytest.raises(FileGone):
        check_sealed(str(fetched))


@pytest.mark.parametrize(
    "statement", [A_CLAIM, NO_TEXT, A_COPY], ids=["a claim", "no text", "a copy"]
)
@pytest.mark.parametrize("key", ["letters/letter", "{name}/0123", "{name}/{given}/letter"])
def test_an_index_removes_only_objects_with_keys_that_it_has_given(
    key: str, statement: str, squirrel: Squirrel, letters: Path
) -> None:
    before = files_below(letters)
    with Origin({"/nuts": ACORN}) as origin:
        url = f"{origin.url}/nuts"
        assert squirrel.run(url).status == 0
        name = Resource(url).name
        objects = squirrel.folder / "objects"
        (objects / "letters").symlink_to(letters)
        (given,) = os.listdir(objects / name)
        planted = key.format(name=name, given=given)
        row = {"key": planted, "name": name, "place": objects.as_uri()}
        with closing(sqlite3.connect(squirrel.folder / "index.sqlite")) as index, index:
            index.execute(statement, row)
        ran = squirrel.run(url)
    assert (ran.status, "it has a key that no squirrel has put there" in ran.out) == (1, True)
    assert files_below(letters) == before
    assert os.listdir(objects / name) == [given]


def test_another_users_folder_is_refused(
    squirrel: Squirrel, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(squirrel.folder / FOLDER)
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    ran = squirrel.run(NUTS)
    assert (ran.status, ran.err.count("\n")) == (2, 1)
    assert f"{FOLDER} cannot be used (It belongs to another user)" in ran.err
    assert sorted(os.listdir(squirrel.folder / FOLDER)) == sorted(OURS + THEIRS)


def test_a_junction_of_windows_is_a_link() -> None:
    folder: Any = SimpleNamespace(st_mode=stat.S_IFDIR, st_uid=os.geteuid(), st_file_attributes=16)
    check_own(folder, "parts")
    folder.st_file_attributes |= stat.FILE_ATTRIBUTE_REPARSE_POINT
    with pytest.raises(OSError, match="It is a link"):
        check_own(folder, "parts")
