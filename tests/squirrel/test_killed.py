"""A squirrel that is killed or interrupted, and what it finds when it comes back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from itertools import repeat
from pathlib import Path

import pytest

from ixbackoff.live.resumable_downloads import OVERLAP
from ixbackoff.squirrel import keep_all
from ixbackoff.squirrel.commands import Resource
from ixbackoff.squirrel.fetched_files import FOLDER, fetching_folder, open_file
from ixbackoff.testing.web import Document, Origin, Slow, Status, Truncated

from ..support.kills.moments import Moments
from ..support.kills.squirrels import KillingSquirrels
from ..support.processes import Child
from ..support.squirrels.running import Squirrel, files_below, objects_of, rows_of, tidy

ROOT = Path(__file__).parent.parent.parent
OLD = b"acorn" * 50_000
NEW = b"hazelnut" * 100_000


def moments_of(url: str, squirrel: Squirrel, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many moments there are before and after the commands of a run that copies."""
    counted = Moments(None, lambda: None)
    with monkeypatch.context() as patched:
        patched.setattr(keep_all, "answering", counted.answering)
        assert squirrel.run(url).results == ["copied"]
    return counted.passed


@pytest.mark.slow
@pytest.mark.parametrize("kept_before", [False, True], ids=["new", "changed"])
def test_killed_at_any_moment_it_keeps_the_resource_the_next_time(
    kept_before: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Origin({"/nuts": OLD}) as origin:
        url = origin.url + "/nuts"
        key = Resource(url).name
        dry = Squirrel(tmp_path / "dry", capsys)
        count = moments_of(url, dry, monkeypatch)
        assert count == 20  # ten commands
        origin.resources["/nuts"] = NEW
        if kept_before:
            count = moments_of(url, dry, monkeypatch)
            assert count == 24  # the former object is removed, and the claim to it
        moments = [str(moment) for moment in range(count)] + ["download", "link", "copy"]
        squirrels = {moment: Squirrel(tmp_path / moment, capsys) for moment in moments}
        if kept_before:
            origin.resources["/nuts"] = OLD
            for squirrel in squirrels.values():
                squirrel.run(url)
            origin.resources["/nuts"] = NEW
        arguments = [str(tmp_path), ",".join(moments), url]
        words = [sys.executable, "-m", "tests.support.kills.moments", *arguments]
        subprocess.run(words, cwd=ROOT, check=True)  # noqa: S603

        left = {moment: files_below(squirrel.folder) for moment, squirrel in squirrels.items()}
        assert any(name.endswith(".part") for name in left["download"])
        assert any("#" in name for name in left["copy"])
        objects = squirrels["link"].folder / "objects" / key
        assert max(kept.stat().st_nlink for kept in objects.iterdir()) == 2
        for moment, squirrel in squirrels.items():
            recorded = moment.isdecimal() and int(moment) >= 19
            for row in squirrel.rows:  # what is recorded is there
                assert recorded or kept_before
                kept = squirrel.folder / "objects" / row.key
                assert kept.read_bytes() == (NEW if recorded else OLD), moment
            ran = squirrel.run(url)
            assert (ran.status, ran.results) == (0, ["hit" if recorded else "copied"]), moment
            assert squirrel.objects == {key: NEW}
            assert [row.name for row in squirrel.rows] == [key]
            assert files_below(squirrel.folder) == tidy(url)


# A process that a shell began in the background ignores SIGINT, and so do those that it begins.
INTERRUPTIBLE = """
import runpy, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv[1:1] = ["squirrel"]
runpy.run_module("ixbackoff", run_name="__main__", alter_sys=True)
"""


@pytest.mark.slow
def test_interrupted_in_a_wait_it_shows_what_is_kept(tmp_path: Path) -> None:
    folder = tmp_path / "squirrel"
    with Origin({"/nuts": OLD}, {"GET /later": repeat(Status(503))}) as origin:
        origin.resources["/later"] = OLD
        words = [origin.url + "/nuts", origin.url + "/later", origin.url + "/never"]
        arguments = ["-c", INTERRUPTIBLE, *words, "--folder", str(folder), "--base", "600"]
        arguments += ["--jobs", "1"]
        with Child(
            [sys.executable, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            try:
                assert process.stderr is not None
                assert "server error 503; on N3 (3 waits left), waiting 600 s" in (
                    process.stderr.readline()
                )
                process.send_signal(signal.SIGINT)
                out, err = process.communicate(timeout=60)
            finally:
                process.kill()
        assert process.returncode == 130
        assert err == "Interrupted; the index has the resources that were kept before.\n"
        assert Resource(words[0]).name in out
        assert "/later" not in out
        assert files_below(folder) == tidy(words[0])
        assert objects_of(folder) == {Resource(words[0]).name: OLD}
        assert len(rows_of(folder / "index.sqlite")) == 1


@pytest.mark.slow
@pytest.mark.parametrize("etag", ["", None], ids=["in parts", "whole"])
def test_four_interrupts_leave_no_part_without_its_note(etag: str | None, tmp_path: Path) -> None:
    folder = tmp_path / "squirrel"
    served = {f"/nuts/{number}": Document(NEW, etag=etag) for number in range(6)}
    slow = {f"GET {path}": repeat(Slow(0.02, len(NEW) // 50)) for path in served}
    with Origin(served, slow) as origin:
        words = [*(origin.url + path for path in served), "--folder", str(folder)]
        with Child(
            [sys.executable, "-c", INTERRUPTIBLE, *words], stderr=subprocess.PIPE
        ) as process:
            while not {f"GET {path}" for path in served} <= {*origin.counts}:
                assert process.poll() is None
                time.sleep(0.01)
            time.sleep(0.3)
            for _ in range(4):
                process.send_signal(signal.SIGINT)
                time.sleep(0.01)
            process.communicate(timeout=60)
    left = {name for name in files_below(folder) if name.endswith((".part", ".json"))}
    assert etag is not None or not left
    parts = {name for name in left if name.endswith(".part")}
    assert left == parts | {f"{name}.json" for name in parts}


WORKING = """
import sys
from ixbackoff.squirrel.commands import Resource
from ixbackoff.squirrel.fetched_files import open_file
url = "http://localhost/nuts"
files = [open_file(sys.argv[1], Resource(url).name) for _ in range(2)]
for file in files:
    print(file.part.part, flush=True)
sys.stdin.read()
"""


def test_squirrels_leave_each_other_in_peace_and_clear_up_after_the_dead(tmp_path: Path) -> None:
    folder = tmp_path / FOLDER
    with Child(
        [sys.executable, "-c", WORKING, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        lasting, private = (Path(process.stdout.readline().strip()) for _ in range(2))
        with fetching_folder(tmp_path):
            ours = open_file(str(folder), Resource("http://localhost/nuts").name)
            assert not ours.resumable
            os.utime(lasting, (0, 0))
            with fetching_folder(tmp_path):
                assert {*folder.iterdir()} == {lasting, private, Path(ours.part.part)}
            ours.part.release()
        process.kill()
        process.wait()
        os.utime(lasting)
        with fetching_folder(tmp_path):
            assert [*folder.iterdir()] == [lasting]
            os.utime(lasting, (0, 0))
    assert [*tmp_path.iterdir()] == []


def test_a_folder_that_nothing_was_put_into_is_not_left_behind(tmp_path: Path) -> None:
    home = tmp_path / "a" / "b"
    with fetching_folder(home) as folder:
        assert folder.parent == home
    assert os.listdir(tmp_path) == []
    home.mkdir(parents=True)
    with fetching_folder(home):
        pass
    assert home.exists()
    with fetching_folder(home / "c"):
        (home / "c" / "kept").touch()
    assert os.listdir(home / "c") == ["kept"]


@pytest.mark.slow
@pytest.mark.parametrize("way", ["killed", "failed"])
def test_a_later_run_fetches_only_what_is_missing(
    way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    squirrel = Squirrel(tmp_path / "squirrel", capsys)
    half = len(NEW) // 2
    faults = [Truncated(after=half), *[Status(503)] * 4]  # it goes on once, without a wait
    with Origin({"/nuts": NEW}, {"GET /nuts": faults}) as origin:
        url = origin.url + "/nuts"
        if way == "killed":
            words = [sys.executable, "-m", "ixbackoff", "squirrel", url, "--base", "600"]
            with Child(
                [*words, "--folder", str(squirrel.folder)], stderr=subprocess.PIPE
            ) as process:
                assert process.stderr is not None
                process.stderr.readline()
                process.kill()
            origin.script("GET /nuts", [])
        else:
            assert squirrel.run(url).status == 1
        assert squirrel.run(url).results == ["copied"]
        asked = origin.requests[-1].headers["range"]
        assert asked == f"bytes={max(0, half - OVERLAP)}-"
        assert squirrel.objects == {Resource(url).name: NEW}
        assert files_below(squirrel.folder) == tidy(url)


@pytest.mark.slow
def test_killed_at_random_moments_with_several_jobs(tmp_path: Path) -> None:
    found = KillingSquirrels(tmp_path / "squirrel", seed=2).until(kills=4)
    assert found.broken == [], str(found)


@pytest.mark.slow
def test_squirrels_beside_each_other_keep_each_resource_once(tmp_path: Path) -> None:
    folder = tmp_path / "squirrel"
    resources = {f"/nuts/{number}": b"%d" % number * 30_000 for number in range(4)}
    with Origin(resources) as origin:
        words = [*(origin.url + path for path in resources), "--folder", str(folder)]
        command = [sys.executable, "-m", "ixbackoff", "squirrel", *words, "--base", "0.3"]
        processes = [
            subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603
            for _ in range(6)
        ]
        for process in processes:
            out, _ = process.communicate(timeout=60)
            assert process.returncode == 0, out
        kept = {Resource(origin.url + path).name: body for path, body in resources.items()}
        assert objects_of(folder) == kept
        left = {name for path in resources for name in tidy(origin.url + path)}
        assert files_below(folder) == sorted(left)
