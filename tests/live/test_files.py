"""A download's file: whole or not there, whoever else writes it, and whatever the disk says."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from ixbackoff import N3, Download, Exponential, NotReady, at, is_transient
from ixbackoff._running.boot_clock import boot_id
from ixbackoff.live import file_primitives, live
from ixbackoff.live.part_files import OPEN, PartFile, PartOrigin
from ixbackoff.testing.web import Origin, Slow, Truncated

from ..support.ways.live import SYNC, Way, each_way

ACORN = bytes(range(256)) * 500


def in_another_process(program: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, text=True
    )


def test_a_killed_download_leaves_nothing_after_the_next(tmp_path: Path) -> None:
    part, target = tmp_path / ".a.part", tmp_path / "a"
    program = (
        "import sys; from ixbackoff import N0, Download, at; from ixbackoff.live import live; "
        "at(N0).do(Download(*sys.argv[1:])).run(live())"
    )
    with Origin({"/a": ACORN}, {"GET /a": [Slow(0.02, 1000)]}) as origin:
        with in_another_process(program, f"{origin.url}/a", str(target)) as killed:
            while not (part.exists() and part.stat().st_size):
                assert killed.poll() is None
                time.sleep(0.01)
            killed.send_signal(signal.SIGKILL)
        assert sorted(tmp_path.iterdir()) == [part, tmp_path / ".a.part.json"]
        part.write_bytes(b"longer than the resource" * 10_000)  # which does not fit, so it goes
        SYNC.perform(Download(f"{origin.url}/a", str(target)))
    assert list(tmp_path.iterdir()) == [target]
    assert target.read_bytes() == ACORN


@pytest.mark.slow
def test_a_full_disk_is_told_with_the_name_of_the_file(tmp_path: Path) -> None:
    # A limit on the size of files is the full disk that every test machine has.
    program = """
import resource, sys
from ixbackoff import Download
from tests.support.ways.live import SYNC, ASYNC
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
for way in (SYNC, *ASYNC):
    try:
        way.perform(Download(*sys.argv[1:]))
    except OSError as error:
        print(type(error).__name__, error)
"""
    target = tmp_path / "a"
    with (
        Origin({"/a": ACORN}) as origin,
        in_another_process(program, f"{origin.url}/a", str(target)) as limited,
    ):
        said, _ = limited.communicate(timeout=20)
    assert said.splitlines() == [f"OSError [Errno 27] File too large: '{target}'"] * 3
    assert list(tmp_path.iterdir()) == []


def test_what_is_open_is_known_until_it_is_left(tmp_path: Path) -> None:
    path = str(tmp_path / "a")
    with PartFile(path) as part:
        assert {*OPEN} == {part}
        for wrong in (path, str(tmp_path), str(tmp_path / "missing" / "a")):
            with pytest.raises((NotReady, OSError)), PartFile(wrong):
                pass
        assert {*OPEN} == {part}
    assert not OPEN


@each_way
def test_a_target_that_cannot_be_written_costs_no_request(way: Way, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    cases: dict[str | Path, type[OSError]] = {
        tmp_path / "missing" / "a": FileNotFoundError,
        tmp_path / "file" / "a": NotADirectoryError,
        tmp_path / "folder": IsADirectoryError,
        f"{tmp_path / 'folder'}/": IsADirectoryError,
        tmp_path / ("a" * 256): OSError,
        "/dev/full": OSError,
        "/proc/a": OSError,
    }
    with Origin({"/a": ACORN}) as origin:
        for target, kind in cases.items():
            with pytest.raises(kind) as caught:
                way.perform(Download(f"{origin.url}/a", str(target)))
            assert not is_transient(caught.value)
            assert caught.value.filename == str(target)
            assert repr(str(target)) in str(caught.value)
    assert origin.requests == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


@pytest.mark.slow
def test_a_read_only_folder_is_told(tmp_path: Path) -> None:
    # Nothing is read-only to root, so root steps down, once all is imported.
    program = """
import os, sys
from ixbackoff import Download
from tests.support.ways.live import SYNC, ASYNC
url, elsewhere, target = sys.argv[1:]
for way in (SYNC, *ASYNC):
    way.perform(Download(url, elsewhere))
if os.geteuid() == 0:
    os.seteuid(65534)
for way in (SYNC, *ASYNC):
    try:
        way.perform(Download(url, target))
    except OSError as error:
        print(type(error).__name__, error)
"""
    with TemporaryDirectory() as folder, Origin({"/a": ACORN}) as origin:
        os.chmod(folder, 0o555)  # noqa: S103
        arguments = (f"{origin.url}/a", str(tmp_path / "a"), f"{folder}/a")
        with in_another_process(program, *arguments) as unprivileged:
            said, _ = unprivileged.communicate(timeout=20)
        assert os.listdir(folder) == []
    assert said.splitlines() == [f"PermissionError [Errno 13] Permission denied: '{folder}/a'"] * 3


def planted_link(part: Path, precious: Path) -> None:
    part.symlink_to(precious)


def planted_hard_link(part: Path, precious: Path) -> None:
    part.hardlink_to(precious)


def planted_queue(part: Path, _: Path) -> None:
    os.mkfifo(part)


@each_way
@pytest.mark.parametrize("planted", [planted_link, planted_hard_link, planted_queue])
@pytest.mark.parametrize("name", [".a.part", ".a.part.json"])
def test_what_somebody_has_planted_is_removed_and_not_written_to(
    way: Way, planted: Callable[[Path, Path], None], name: str, tmp_path: Path
) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"gold")
    planted(tmp_path / name, precious)
    with Origin({"/a": ACORN}) as origin:
        way.perform(Download(f"{origin.url}/a", str(tmp_path / "a")))
    assert precious.read_bytes() == b"gold"
    assert (tmp_path / "a").read_bytes() == ACORN
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "precious"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_a_part_of_another_user_is_removed(tmp_path: Path) -> None:
    theirs = tmp_path / ".a.part"
    theirs.write_bytes(b"theirs")
    os.chown(theirs, 65534, 65534)
    with Origin({"/a": ACORN}) as origin:
        SYNC.perform(Download(f"{origin.url}/a", str(tmp_path / "a")))
    assert (tmp_path / "a").stat().st_uid == os.geteuid()


@each_way
@pytest.mark.parametrize("length", range(235, 256, 5))
def test_a_name_may_be_as_long_as_the_system_allows(way: Way, length: int, tmp_path: Path) -> None:
    target = tmp_path / ("a" * length)
    with Origin({"/a": ACORN}, {"GET /a": [Truncated(len(ACORN) - 1)]}) as origin:
        with pytest.raises(ConnectionError):
            way.perform(Download(f"{origin.url}/a", str(target)))
        assert len(list(tmp_path.iterdir())) == 2
        way.perform(Download(f"{origin.url}/a", str(target)))
    assert list(tmp_path.iterdir()) == [target]
    assert target.read_bytes() == ACORN


@each_way
def test_a_second_download_into_a_file_waits_for_the_first(way: Way, tmp_path: Path) -> None:
    target = tmp_path / "a"
    with Origin({"/a": ACORN}) as origin:
        command = Download(f"{origin.url}/a", str(target))
        with PartFile(str(target)) as part:
            part.write(b"acorn")
            with pytest.raises(NotReady, match="another download into it is running"):
                way.perform(command)
            part.commit()
        assert target.read_bytes() == b"acorn"
        assert origin.requests == []
        way.perform(command)
    assert target.read_bytes() == ACORN


@each_way
def test_a_file_system_without_locks_is_not_taken_for_another_download(
    way: Way, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lock(_: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(file_primitives, "lock", lock)
    command = Download("http://localhost/a", str(tmp_path / "a"))
    with pytest.raises(OSError, match=r"No locks available.*/a'") as caught:
        way.perform(command)
    assert not is_transient(caught.value)


def test_a_committed_file_is_on_the_disk_and_then_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []

    def recorded(name: str) -> None:
        carry_out: Callable[..., Any] = getattr(os, name)

        def record(what: Any, *more: Any) -> Any:
            path = os.readlink(f"/proc/self/fd/{what}") if isinstance(what, int) else str(what)
            steps.append(f"{name} {os.path.relpath(path, tmp_path)}")
            return carry_out(what, *more)

        monkeypatch.setattr(os, name, record)

    with PartFile(str(tmp_path / "a")) as part:
        part.write(ACORN)
        for name in ("write", "fsync", "replace"):
            recorded(name)
        part.commit()
    assert steps == ["fsync .a.part", "replace .a.part", "fsync ."]


def test_a_file_that_was_renamed_while_waiting_for_its_lock_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "a"
    lock = file_primitives.lock

    def renamed_before(descriptor: int) -> None:
        if not target.exists():
            (tmp_path / ".a.part").write_bytes(b"another's")
            (tmp_path / ".a.part").rename(target)
        lock(descriptor)

    monkeypatch.setattr(file_primitives, "lock", renamed_before)
    with PartFile(str(target)) as part:
        part.write(ACORN)
        assert target.read_bytes() == b"another's"
        part.commit()
    assert target.read_bytes() == ACORN


def test_downloads_that_meet_never_mix(tmp_path: Path) -> None:
    target = tmp_path / "a"
    contents = {f"/{n}": bytes([n]) * 100_000 for n in range(4)}
    whole = set(contents.values())
    with Origin(contents, {path: repeat(Slow(0.001, 20_000)) for path in contents}) as o:
        programs = [
            at(N3).retry(Download(o.url + path, str(target)), on=NotReady) for path in contents
        ] * 4

        def copied(number: int) -> bool:
            try:
                programs[number].run(live(), schedule=Exponential(base=0.01))
            except NotReady:
                return False
            return target.read_bytes() in whole

        with ThreadPoolExecutor(8) as pool:
            outcomes = list(pool.map(copied, range(len(programs))))
    assert any(outcomes)
    assert target.read_bytes() in whole
    assert list(tmp_path.iterdir()) == [target]


def test_a_file_is_made_as_any_other(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    with PartFile(str(tmp_path / "a")) as part:
        part.write(ACORN)
        assert not (tmp_path / "a").exists()
        part.commit()
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_path_may_be_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with PartFile("a") as part:
        part.write(ACORN)
        part.commit()
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_part_whose_name_another_download_had_has_its_own_note(tmp_path: Path) -> None:
    own, other = (PartOrigin("hash", validator, None) for validator in ('"v1"', '"v2"'))
    with PartFile(str(tmp_path / "a")) as part:
        part.begin(own)
        part.write(ACORN)
        os.rename(part.part, tmp_path / "elsewhere")
        Path(part.note).write_text(json.dumps([*other, boot_id()]))
        part.separate()
    assert Path(part.part).read_bytes() == ACORN
    assert json.loads(Path(part.note).read_text()) == [*own, boot_id()]
