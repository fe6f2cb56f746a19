"""The squirrel on real parts: an origin over sockets, a folder, and a file."""

from __future__ import annotations

import logging
import re
from itertools import repeat
from pathlib import Path

import pytest

from ixbackoff import Delay
from ixbackoff._limits.events import WaitBegan
from ixbackoff.squirrel import sqlite
from ixbackoff.squirrel.commands import Brought, Fetch, Resource, Swap
from ixbackoff.squirrel.fetched_files import FetchedFiles
from ixbackoff.squirrel.index import Index
from ixbackoff.squirrel.progress_display import Display
from ixbackoff.squirrel.squirrel_command import main
from ixbackoff.squirrel.summary import SummaryLine, show
from ixbackoff.testing.web import (
    Document,
    Down,
    Fault,
    Origin,
    Reset,
    Slow,
    Status,
    Truncated,
)

from ..support.squirrels.indexes import check_swaps
from ..support.squirrels.running import Squirrel, files_below, locking, rows_of, tidy

ACORN = bytes(range(256)) * 2000
WALNUT = b"walnut" * 2**20
STYLE = re.compile("\x1b\\[[0-9;]*m")


@pytest.fixture
def squirrel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Squirrel:
    return Squirrel(tmp_path / "squirrel", capsys)


def test_first_it_copies_then_it_hits_and_a_change_is_copied_again(squirrel: Squirrel) -> None:
    with Origin({"/nuts": ACORN}) as origin:
        url = origin.url + "/nuts"
        key = Resource(url).name
        first = squirrel.run(url)
        assert (first.status, first.results, first.tries, first.err) == (0, ["copied"], [1], "")
        assert squirrel.objects == {key: ACORN}
        again = squirrel.run(url)
        assert (again.status, again.results) == (0, ["hit"])
        assert origin.counts == {"HEAD /nuts": 1, "GET /nuts": 1}
        origin.resources["/nuts"] = WALNUT
        changed = squirrel.run(url)
        assert (changed.status, changed.results) == (0, ["copied"])
        assert squirrel.objects == {key: WALNUT}
        assert squirrel.run(url).results == ["hit"]
        assert key in first.out
        (row,) = squirrel.rows
        assert (row.name, row.resource, row.size) == (key, url, len(WALNUT))
        assert row.key.startswith(f"{key}/")
        assert files_below(squirrel.folder) == tidy(url)


def test_a_store_in_memory_leaves_nothing(squirrel: Squirrel) -> None:
    with Origin({"/nuts": ACORN}) as origin:
        url = origin.url + "/nuts"
        for _ in range(2):
            ran = squirrel.run(url, url, "--store", "memory://")
            assert (ran.status, ran.results) == (0, ["copied", "hit"])
    assert not squirrel.folder.exists()


def test_another_store_gets_a_copy_of_its_own(squirrel: Squirrel, tmp_path: Path) -> None:
    with Origin({"/nuts": ACORN}) as origin:
        url = origin.url + "/nuts"
        squirrel.run(url)
        elsewhere = tmp_path / "else where"
        for result in ("copied", "hit"):
            assert squirrel.run(url, "--store", elsewhere.as_uri()).results == [result]
        (kept,) = (elsewhere / Resource(url).name).iterdir()
        assert kept.read_bytes() == ACORN


def test_a_folder_of_any_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    squirrel = Squirrel(tmp_path / "a b" / "ü?c=d#e%41", capsys)
    with Origin({"/nuts": ACORN}) as origin:
        for result in ("copied", "hit"):
            assert squirrel.run(origin.url + "/nuts").results == [result]
        assert files_below(squirrel.folder) == tidy(origin.url + "/nuts")


FAULTS: dict[str, tuple[str, list[Fault | None], list[str]]] = {
    "refused": ("GET /nuts", [Down(seconds=0.3)], ["broke off", "refused"]),
    "reset": ("GET /nuts", [Reset(after=1000), *[Reset()] * 2], ["reset by peer"] * 2),
    "truncated": ("GET /nuts", [Truncated(after=1000)], ["broke off"]),
    "unavailable": ("GET /nuts", [Status(503), Status(500)], ["503", "500"]),
    "throttled": ("GET /nuts", [Status(429, retry_after=0.2)], ["waiting 0.2 s"]),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_may_pass_is_waited_for(name: str, squirrel: Squirrel) -> None:
    asked, faults, told = FAULTS[name]
    with Origin({"/nuts": ACORN}, {asked: faults}) as origin:
        url = origin.url + "/nuts"
        ran = squirrel.run(url, base="0.15")
        assert (ran.status, ran.results) == (0, ["copied"])
        assert squirrel.objects == {Resource(url).name: ACORN}
        assert files_below(squirrel.folder) == tidy(url)
    waits = ran.err.splitlines()
    assert ran.tries == [1 + len(waits)]
    for number, words in enumerate(told):
        assert words in waits[number]
        assert f"on N{3 - number} ({3 - number} waits left), waiting " in waits[number]
        assert url in waits[number]


def test_what_fails_does_not_stop_the_others(squirrel: Squirrel) -> None:
    faults = {"GET /broken": repeat(Status(503))}
    with Origin({"/broken": ACORN, "/nuts": ACORN}, faults) as origin:
        ran = squirrel.run(*(origin.url + path for path in ("/missing", "/broken", "/nuts")))
        assert ran.status == 1
        assert ran.tries == [1, 4, 1]
        assert "404" in ran.results[0]
        assert "503" in ran.results[1]
        assert ran.results[2] == "copied"
        assert list(squirrel.objects) == [Resource(origin.url + "/nuts").name]
        assert origin.counts["GET /missing"] == 1
        assert files_below(squirrel.folder) == tidy(origin.url + "/nuts")


def test_a_resource_without_an_etag_is_copied_each_time(squirrel: Squirrel) -> None:
    with Origin({"/nuts": Document(ACORN, etag=None)}) as origin:
        for _ in range(2):
            assert squirrel.run(origin.url + "/nuts").results == ["copied"]
    assert [row.etag for row in squirrel.rows] == [None]
    assert len(squirrel.objects) == 1


@pytest.mark.parametrize("etag", ["v1", 'W/"v1"', '"v', "é", "'; DROP TABLE copies; --"])
def test_an_odd_etag_is_compared_as_it_stands(etag: str, squirrel: Squirrel) -> None:
    with Origin({"/nuts": Document(ACORN, etag=etag)}) as origin:
        for result in ("copied", "hit"):
            assert squirrel.run(origin.url + "/nuts").results == [result]
    assert [row.etag for row in squirrel.rows] == [etag]


@pytest.mark.parametrize("status", [403, 405, 501])
def test_an_origin_may_refuse_to_give_headers_alone(status: int, squirrel: Squirrel) -> None:
    with Origin({"/nuts": ACORN}, {"HEAD /nuts": repeat(Status(status))}) as origin:
        for _ in range(2):
            assert squirrel.run(origin.url + "/nuts").results == ["copied"]


@pytest.mark.slow
def test_demo(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--demo", "--base", "0.06"]) == 0
    out, err = capsys.readouterr()
    tables = out.split("┏")[1:]
    assert [table.count(" copied ") for table in tables] == [5, 0]
    assert [table.count(" hit ") for table in tables] == [0, 5]
    for words in ("refused", "reset by peer", "broke off", "server error 503", "throttled"):
        assert words in err
    assert all(
        re.match(r"http://127\.0\.0\.1:\d+/\w+: (?!GET|http)", line) for line in err.splitlines()
    )
    first, second = (float(seconds) for seconds in re.findall(r"failed: 0; (\S+) s", out))
    assert 0 < second < first  # each run has its own time


def test_verbose_shows_the_log(squirrel: Squirrel) -> None:
    with Origin({"/nuts": Document(ACORN, etag='"\x1b[2J"')}) as origin:
        url = origin.url + "/nuts"
        told = squirrel.run(url, "--verbose").err.splitlines()
        assert squirrel.run(url).err == ""
    assert told == [
        f'got etag "\\x1b[2J" for resource {url}',
        "got copy None",
        f'writing to the index: {url}, etag "\\x1b[2J"',
    ]
    assert logging.getLogger("ixbackoff").level == logging.NOTSET


def test_a_key_is_never_cut(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    resource = Resource("http://localhost/" + "nuts/" * 30)
    failed = "GET: the server " + "cannot be reached " * 5
    lines = [
        SummaryLine(str(resource), "copied", 1, 0.0, f"{resource.name}/{'0' * 32}"),
        SummaryLine(str(resource), failed, 4, 7.0, ""),
    ]
    for columns in (69, 80, 119, 120, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        show(lines)
        shown = STYLE.sub("", capsys.readouterr().out)
        assert resource.name in shown
        assert "0" * 32 in shown
        assert "…" not in shown
        assert max(map(len, shown.splitlines())) <= columns


def test_a_long_download_has_a_bar(squirrel: Squirrel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("ixbackoff.squirrel.progress_display.LONG", 0.1)
    slow = {"GET /slow": [Slow(seconds=0.05, piece=len(ACORN) // 8)]}
    with Origin({"/slow": ACORN, "/quick": ACORN}, slow) as origin:
        ran = squirrel.run(origin.url + "/quick?token=hush", origin.url + "/slow?token=hush")
    assert ran.results == ["copied"] * 2
    assert "/slow ━" in STYLE.sub("", ran.err)
    assert "512.0/512.0 kB" in ran.err
    assert "/quick" not in ran.err
    assert "hush" not in ran.out + ran.err


def test_a_locked_index_is_waited_for_and_nothing_is_fetched_again(
    squirrel: Squirrel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "TIMEOUT", 0.05)
    with Origin({"/other": ACORN, "/nuts": ACORN}) as origin:
        squirrel.run(origin.url + "/other")
        for how in ("IMMEDIATE", "EXCLUSIVE"):
            with locking(squirrel.index, how) as other:

                def released(
                    display: Display,
                    what: object,
                    delay: Delay | WaitBegan,
                    rest: float | None = None,
                ) -> None:
                    Display.wait(display, what, delay, rest)
                    other.rollback()

                class Releasing(Display):
                    wait = released

                monkeypatch.setattr("ixbackoff.squirrel.keep_all.Display", Releasing)
                origin.resources["/nuts"] = how.encode()
                ran = squirrel.run(origin.url + "/nuts")
            assert (ran.status, ran.results) == (0, ["copied"])
            assert ran.err.count("another program has locked it; on N3 (3 waits left)") == 1
        assert origin.counts["GET /nuts"] == 2
        assert origin.counts["HEAD /nuts"] == 3
    assert len(squirrel.rows) == 2


def test_of_two_squirrels_one_swaps(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'index.sqlite'}"
    with Index(url) as one, Index(url) as other:
        check_swaps(one, other)
    assert len(rows_of(tmp_path / "index.sqlite")) == 1


def test_what_was_replaced_and_not_recorded_is_not_a_hit(
    squirrel: Squirrel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(self: Index, command: Swap) -> bool:
        raise KeyboardInterrupt

    with Origin({"/nuts": b"one"}) as origin:
        url = origin.url + "/nuts"
        squirrel.run(url)
        origin.resources["/nuts"] = b"two"
        monkeypatch.setattr(Index, "swap", interrupted)
        assert squirrel.run(url).status == 130
        monkeypatch.undo()
        origin.resources["/nuts"] = b"one"
        assert squirrel.run(url).results == ["hit"]
        assert files_below(squirrel.folder) == tidy(url)
    assert list(squirrel.objects.values()) == [b"one"]


@pytest.mark.parametrize("how", ["removed", "cut"])
def test_a_hit_is_looked_at(how: str, squirrel: Squirrel) -> None:
    with Origin({"/nuts": ACORN}) as origin:
        url = origin.url + "/nuts"
        squirrel.run(url)
        kept = squirrel.folder / "objects" / squirrel.rows[0].key
        if how == "removed":
            kept.unlink()
        else:
            kept.write_bytes(ACORN[:-1])
        assert squirrel.run(url).results == ["copied"]
        assert squirrel.objects == {Resource(url).name: ACORN}
        assert squirrel.run(url).results == ["hit"]
        assert files_below(squirrel.folder) == tidy(url)


def test_what_is_recorded_is_the_etag_of_the_answer_that_brought_the_bytes(
    squirrel: Squirrel, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = FetchedFiles.fetch
    with Origin({"/nuts": Document(b"none", etag='"v0"')}) as origin:
        url = origin.url + "/nuts"
        squirrel.run(url)
        origin.resources["/nuts"] = Document(b"one", etag='"v1"')

        def changed(self: FetchedFiles, command: Fetch) -> Brought:
            origin.resources["/nuts"] = Document(b"two", etag='"v2"')
            return real(self, command)

        monkeypatch.setattr(FetchedFiles, "fetch", changed)
        assert squirrel.run(url).results == ["copied"]
        assert (squirrel.rows[0].etag, squirrel.objects[Resource(url).name]) == ('"v2"', b"two")
        origin.resources["/nuts"] = Document(b"one", etag='"v1"')
        monkeypatch.undo()
        assert squirrel.run(url).results == ["copied"]
        assert squirrel.objects == {Resource(url).name: b"one"}
