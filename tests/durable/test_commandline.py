"""The command line looks at durable runs, and pauses, resumes, cancels and forgets them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ixbackoff import N1, Constant, Download, at, call
from ixbackoff.durable import durable
from ixbackoff.durable import durable_command as commandline
from ixbackoff.live import live

from ..support.durable.engines import until, url_in, working


@durable(name="nap", schedule=Constant(30.0))
def nap(number: int) -> Any:
    return at(N1).do(call(str, number)).wait().do(call(str, number))


@durable(name="fetch")
def fetch(url: str) -> Any:
    return at(N1).do(Download(url, "/nowhere/a")).end()


class Lines:
    """The command line in this process."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.url = url_in(folder)
        self.capsys = capsys

    def __call__(self, *words: str, status: int = 0) -> str:
        assert commandline.main(["--database", self.url, *words]) == status
        out, err = self.capsys.readouterr()
        return err if status else out

    def json(self, *words: str) -> Any:
        return json.loads(self("--output-format", "json", *words))


@pytest.fixture
def line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Lines:
    return Lines(tmp_path, capsys)


def test_a_run_is_seen_paused_resumed_cancelled_and_forgotten(tmp_path: Path, line: Lines) -> None:
    with working(tmp_path, live(), nap, fetch) as engine:
        engine.start_with_id("one", nap, 1)
        until(lambda: "waiting until" in line("runs"))
        (seen,) = line.json("runs")
        assert (seen["run"], seen["workflow"], seen["rung"], seen["wait_count"]) == (
            "one",
            "nap",
            1,
            1,
        )
        assert line("show", "one").splitlines()[1].split()[:2] == ["0", "call(str,"]
        assert "one  paused" in line("pause", "one")
        assert "has not ended: cancel it first" in line("forget", "one", status=1)
        assert line("resume", "one").splitlines()[1].startswith("one  ")
        until(lambda: "waiting until" in line("runs"))
        assert "has not ended: cancel it first" in line("forget", "one", status=1)
        assert "cannot be resumed: it is waiting until" in line("resume", "one", status=1)
        assert "one  cancelled" in line("cancel", "one")
        assert "cannot be resumed: it is cancelled" in line("resume", "one", status=1)
        assert "one  forgotten" in line("forget", "one")
        assert line.json("runs") == []


def test_secrets_are_hidden(tmp_path: Path, line: Lines) -> None:
    with working(tmp_path, live(), nap, fetch) as engine:
        run = engine.start_with_id(
            "two", fetch, "http://me:opensaysme@127.0.0.1:1/a?token=opensaysme"
        )
        with pytest.raises(FileNotFoundError):
            run.result()
    assert "opensaysme" not in line("show", "two") + line("runs")
    assert "Download(url='http://127.0.0.1:1/a'" in line("show", "two")


def test_it_watches_until_ctrl_c(
    tmp_path: Path, line: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    with working(tmp_path, live(), nap, worker=False) as engine:
        engine.start_with_id("one", nap, 1)
    shown: list[float] = []

    def pause(seconds: float) -> None:
        shown.append(seconds)
        if len(shown) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(commandline, "blocking_sleep", pause)
    assert commandline.main(["--database", line.url, "--watch", "runs"]) == 130
    assert line.capsys.readouterr().out.count("queued") == 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--database", "sqlite:////nowhere/a", "runs"], "There is no file /nowhere/a: give --da"),
        (["--database", "mysql://a", "runs"], "give the URL of a file"),
    ],
)
def test_a_wrong_database(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert commandline.main(words) == 2
    assert said in capsys.readouterr().err


def test_an_unknown_run(tmp_path: Path, line: Lines) -> None:
    with working(tmp_path, live(), nap, worker=False):
        pass
    for word in ("show", "pause", "resume", "cancel", "forget"):
        assert line(word, "three", status=1) == "There is no run three.\n"
