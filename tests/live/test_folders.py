"""Uploads into folders: on the disk when they say so, under any name, and in any process."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from obstore.store import LocalStore, MemoryStore

from ixbackoff import N0, Misuse, Upload, at
from ixbackoff.live import live, uploads
from ixbackoff.live.limits import Limits
from ixbackoff.live.list_and_remove import remove_object

from ..support.ways.live import SYNC, Way, each_way

LARGE = bytes(range(256)) * (2 * uploads.PART // 256 + 1)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source"
    path.write_bytes(LARGE)
    return path


@each_way
@pytest.mark.parametrize("copying", ["copy_file_range", "write"])
def test_an_object_is_on_the_disk_before_the_upload_returns(
    way: Way, copying: str, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[tuple[str, str]] = []
    if not hasattr(os, copying):
        pytest.skip(f"there is no {copying} here")
    if copying == "write":
        monkeypatch.delattr(os, "copy_file_range", raising=False)

    def recorded(name: str) -> None:
        carry_out: Callable[..., Any] = getattr(os, name)

        def record(*given: Any, **more: Any) -> Any:
            what = given[1 if name == "copy_file_range" else 0]
            path = os.readlink(f"/proc/self/fd/{what}") if isinstance(what, int) else str(what)
            answer = carry_out(*given, **more)
            done.append((name, os.path.relpath(path, tmp_path)))
            return answer

        monkeypatch.setattr(os, name, record)

    for name in ("fsync", "replace", "mkdir", copying):
        recorded(name)
    way.perform(Upload(str(source), (tmp_path / "a" / "b" / "key").as_uri()))
    steps = [
        step for number, step in enumerate(done) if step != (done[number - 1] if number else 0)
    ]
    ours = [step for step in steps if step[1] == "." or step[1].startswith("a")]
    assert ours == [
        ("mkdir", "a"),
        ("fsync", "."),
        ("mkdir", "a/b"),
        ("fsync", "a"),
        (copying, "a/b/key.ixbackoff#1"),
        ("fsync", "a/b/key.ixbackoff#1"),
        ("replace", "a/b/key.ixbackoff#1"),
        ("fsync", "a/b"),
    ]


@each_way
@pytest.mark.parametrize("length", [240, 241, 245, 250, 254, 255])
def test_a_name_may_be_as_long_as_the_system_allows(
    way: Way, length: int, source: Path, tmp_path: Path
) -> None:
    name = "é" * (length // 2) + "n" * (length % 2)
    way.perform(Upload(str(source), (tmp_path / "store" / name).as_uri()))
    assert os.listdir(tmp_path / "store") == [name]
    assert (tmp_path / "store" / name).read_bytes() == LARGE


@each_way
def test_a_name_that_is_too_long_is_told(way: Way, source: Path, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="File name too long"):
        way.perform(Upload(str(source), (tmp_path / ("n" * 256)).as_uri()))
    assert os.listdir(tmp_path) == ["source"]


def test_a_store_that_is_given_is_written_as_one_that_is_named(
    source: Path, tmp_path: Path
) -> None:
    store = LocalStore(tmp_path / "given", mkdir=True)
    SYNC.perform(Upload(str(source), "nuts://a/b/c"), stores={"nuts://a": store})
    assert bytes(store.get("b/c").bytes()) == LARGE
    assert [each["path"] for each in store.list().collect()] == ["b/c"]
    with pytest.raises(ValueError, match="are for unfinished files"):
        SYNC.perform(Upload(str(source), "nuts://a/c#1"), stores={"nuts://a": store})


def in_a_child(work: Callable[[], object]) -> int:
    """Do something in a forked child; return how it ended, by a signal if it takes long."""
    process = os.fork()
    if not process:
        signal.alarm(10)
        try:
            work()
            os._exit(0)
        except Misuse as refused:
            os._exit(3 if "forked" in str(refused) else 4)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


FORKED = """
import sys
from pathlib import Path
from obstore.store import MemoryStore
from ixbackoff import Upload
from tests.live.test_folders import in_a_child
from tests.support.ways.live import SYNC
source, folder = sys.argv[1:]
SYNC.perform(Upload(source, "memory:///a"))
SYNC.perform(Upload(source, f"file://{folder}/a"))
print(in_a_child(lambda: SYNC.perform(Upload(source, f"file://{folder}/b"))))
print(in_a_child(lambda: SYNC.perform(Upload(source, "memory:///b"))))
print(in_a_child(lambda: SYNC.perform(Upload(source, "s3://bucket/b"))))
SYNC.perform(Upload(source, "memory:///c"))
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
def test_a_forked_process_uploads_to_a_folder_and_is_told_what_it_cannot(
    source: Path, tmp_path: Path, aws: pytest.MonkeyPatch
) -> None:
    aws.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    arguments = [sys.executable, "-c", FORKED, str(source), str(tmp_path / "store")]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=60)  # noqa: S603
    assert done.stdout.split() == ["0", "3", "3"], done.stderr
    assert (tmp_path / "store" / "b").read_bytes() == LARGE


def test_a_folder_that_somebody_has_locked_is_no_hindrance(source: Path, tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    descriptor = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        SYNC.perform(Upload(str(source), (tmp_path / "key").as_uri()))
    finally:
        os.close(descriptor)
    assert (tmp_path / "key").read_bytes() == LARGE


def test_a_link_in_the_place_of_a_part_is_not_followed(source: Path, tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "store" / "key.ixbackoff#1").symlink_to(tmp_path / "secret")
    os.link(tmp_path / "secret", tmp_path / "store" / "key.ixbackoff#2")
    SYNC.perform(Upload(str(source), (tmp_path / "store" / "key").as_uri()))
    assert (tmp_path / "secret").read_bytes() == b"secret"
    assert (tmp_path / "store" / "key").read_bytes() == LARGE


def cannot(*_: object) -> int:
    raise OSError(errno.EXDEV, "Invalid cross-device link")


@pytest.mark.parametrize("copies", [cannot, lambda *_: 0], ids=["refused", "nothing"])
def test_what_the_system_cannot_copy_goes_through_this_process(
    copies: Callable[..., int], source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "copy_file_range", copies, raising=False)
    SYNC.perform(Upload(str(source), (tmp_path / "key").as_uri()))
    assert (tmp_path / "key").read_bytes() == LARGE


def test_a_file_that_is_uploaded_stays_its_owners(source: Path, tmp_path: Path) -> None:
    SYNC.perform(Upload(str(source), (tmp_path / "key").as_uri()))
    with source.open("r+b") as file:
        file.write(b"changed")
    assert (tmp_path / "key").read_bytes() == LARGE
    assert source.stat().st_nlink == 1


def test_memory_is_a_store_as_before(source: Path) -> None:
    store = MemoryStore()
    at(N0).do(Upload(str(source), "memory:///a")).run(live(stores={"memory://": store}))
    assert bytes(store.get("a").bytes()) == LARGE


def test_files_of_the_user_are_not_swept(source: Path, tmp_path: Path) -> None:
    mine = {f"report#{number}" for number in range(1, 9)}
    for name in mine:
        (tmp_path / name).write_text("mine")
    (tmp_path / "report.ixbackoff#1").touch()
    url = (tmp_path / "report").as_uri()
    SYNC.perform(Upload(str(source), url))
    assert {*os.listdir(tmp_path)} == {"source", "report"} | mine
    remove_object(url, {}, Limits())
    assert {*os.listdir(tmp_path)} == {"source"} | mine
