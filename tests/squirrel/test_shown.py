"""What the squirrel shows: nothing of it is markup, and nothing is obeyed by a terminal."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.progress import Progress

import ixbackoff.squirrel
from ixbackoff import Download
from ixbackoff.squirrel.one_line_text import fitted
from ixbackoff.squirrel.progress_display import Display
from ixbackoff.squirrel.summary import SummaryLine, show
from ixbackoff.testing.web import Document, Origin, Slow, Status

from ..support.squirrels.running import Ran, Squirrel

pytestmark = pytest.mark.slow

ACORN = bytes(range(256)) * 2000
ODD = ["/[/b]nuts", "/[link=http://elsewhere]nuts[/link]", "/[red]", "/:acorn:"]
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture
def squirrel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Squirrel:
    return Squirrel(tmp_path / "squirrel", capsys)


@pytest.mark.parametrize("path", ODD)
def test_a_url_is_not_markup(
    path: str, squirrel: Squirrel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr("ixbackoff.squirrel.progress_display.LONG", 0.05)
    slow = Slow(seconds=0.05, piece=len(ACORN) // 8)
    with Origin({path: ACORN}, {f"GET {path}": [Status(503), slow]}) as origin:
        ran = squirrel.run(origin.url + path)
    assert (ran.status, ran.out.count("copied:")) == (0, 1)
    assert path in ran.out
    assert f"{path} ━" in ran.err
    assert f"{path}: server error 503" in ran.err or f"{path}): server" in ran.err
    assert "\x1b]8" not in ran.out + ran.err


def test_what_a_terminal_would_obey_is_replaced(squirrel: Squirrel) -> None:
    evil = "\x1b[2J\x9b31m\u202e"
    with Origin({"/nuts": Document(ACORN, etag='"\x1b[2J\x9b"')}) as origin:
        urls = [f"{origin.url}/nuts", f"{origin.url}/{evil}", f"ftp://{evil}"]
        shown = [squirrel.run(*urls[:2], "--verbose"), squirrel.run(urls[2])]
        words = ["--index", f"sqlite:///{squirrel.folder}/{evil}/index", "--store", f"s3:{evil}"]
        shown += [squirrel.run(urls[0], *words[:2]), squirrel.run(urls[0], *words[2:])]
    assert [ran.status for ran in shown] == [1, 2, 2, 2]
    for ran in shown:
        assert OBEYED.findall(ran.out + ran.err) == []


def test_the_table_shows_texts_as_they_are(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    show([SummaryLine("http://localhost/[/b]", "failed: [red]\x1b[2J\n\u202e", 1, 0.0, "")])
    assert "http://localhost/[/b]" in (out := capsys.readouterr().out)
    assert "failed: [red]?[2J??" in out


def test_no_error_of_the_display_fails_a_copy(
    squirrel: Squirrel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("the terminal is gone")

    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setattr("ixbackoff.squirrel.progress_display.LONG", 0.0)
    monkeypatch.setattr(Progress, "update", fails)
    monkeypatch.setattr("rich.console.Console.print", fails)
    display = Display()
    display.progress(Download("http://localhost/nuts", "nuts"), 1, None)
    display.say("nuts")
    display.over("http://localhost/nuts")
    display.close()
    with Origin({"/nuts": ACORN}, {"GET /nuts": [Status(503)]}) as origin:
        monkeypatch.setattr("ixbackoff.squirrel.summary.show", lambda lines: None)
        assert squirrel.run(origin.url + "/nuts").status == 0


def test_lines_go_to_the_standard_output_while_a_bar_is_shown(
    squirrel: Squirrel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setattr("ixbackoff.squirrel.progress_display.LONG", 0.05)
    slow = {"GET /slow": [Slow(seconds=0.1, piece=len(ACORN) // 8)]}
    with Origin({"/slow": ACORN, "/nuts": b"acorn", "/later": b"acorn"}, slow) as origin:
        origin.script("GET /later", [Slow(seconds=0.4)])
        file = tmp_path / "urls"
        file.write_text("".join(f"{origin.url}/{name}\n" for name in ("slow", "nuts", "later")))
        ran = squirrel.run("--input", str(file))
    assert "/slow" in ran.err
    assert ran.out.count("copied\t") == 3
    assert "copied\t" not in ran.err


def frames_of(ran: Ran) -> list[str]:
    """Return what stood on the terminal, one after the other, without colors."""
    return re.split("\x1b\\[2K", re.sub("\x1b\\[[0-9;]*m", "", ran.err))


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_downloads_and_a_line_for_all_fit_the_terminal(
    columns: int, squirrel: Squirrel, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"TTY_COMPATIBLE": "1", "LINES": "5", "COLUMNS": str(columns)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("ixbackoff.squirrel.progress_display.LONG", 0.0)
    paths = [f"/a-very-long-name-of-a-resource-{number}" for number in range(12)]
    paths += ["/missing", "/" + "long" * 100]
    slow = {f"GET {path}": [Slow(seconds=0.05, piece=len(ACORN) // 8)] for path in paths}
    with Origin(dict.fromkeys([*paths[:-2], paths[-1]], ACORN), slow) as origin:
        ran = squirrel.run(*(origin.url + path for path in paths), "--jobs", "14")
    frames = frames_of(ran)
    assert max(len(line) for frame in frames for line in frame.splitlines()) <= columns
    ups = re.findall("(?:\x1b\\[1A\x1b\\[2K)+", ran.err)
    assert max(up.count("\x1b[1A") for up in ups) < 5
    overall = [frame for frame in frames if re.search(r"[0-9]+ of 14", frame)]
    assert any(re.search(r"of 14 \(1 failed\), [0-9.]+ [kM]?B", frame) for frame in overall)
    assert columns == 40 or any("more downloads" in frame for frame in overall)


def test_without_a_terminal_the_progress_is_a_plain_line_now_and_then(
    squirrel: Squirrel, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Origin({"/a": ACORN, "/b": ACORN}) as origin:
        urls = [f"{origin.url}/{name}" for name in ("a", "b", "missing")]
        assert squirrel.run(*urls).err == ""
        monkeypatch.setattr("ixbackoff.squirrel.progress_display.EVERY", 0.0)
        lines = squirrel.run(*urls).err.splitlines()
    assert re.fullmatch(r"[12] of 3( \(1 failed\))?, [0-9.]+ [kM]?B, [0-9.]+ [kM]?B/s", lines[-1])


def test_a_long_url_does_not_fill_the_terminal(squirrel: Squirrel) -> None:
    with Origin({}, {"GET /missing": [Status(503)]}) as origin:
        ran = squirrel.run(f"{origin.url}/{'a' * 20_000}/nuts")
    assert ran.status == 1
    assert len(ran.out) < 10_000
    assert "…" in ran.out
    assert "aaa/nuts" in ran.out


@given(st.text(st.characters()), st.integers(8, 40))
def test_a_text_is_fitted_to_the_cells_that_there_are(text: str, cells: int) -> None:
    shown = fitted(text, cells)
    assert cell_len(shown) <= cells
    assert shown == text or "…" in shown


def test_nothing_here_is_for_one_system_only() -> None:
    folder = Path(str(ixbackoff.squirrel.__file__)).parent
    for path in folder.glob("*.py"):
        for word in ("fcntl", "os.O_CLOEXEC", "os.O_DIRECTORY", "os.fork", "import pwd"):
            assert word not in path.read_text(), path
