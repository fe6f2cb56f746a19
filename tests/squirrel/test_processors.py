"""Jobs share a processor while they keep small resources, and leave it for large ones."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Set
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ixbackoff.squirrel import processors
from ixbackoff.squirrel.__main__ import main
from ixbackoff.squirrel.commands import Claim
from ixbackoff.squirrel.index import Index
from ixbackoff.squirrel.processors import LARGE, Processors, here
from ixbackoff.testing.web import Origin

from ..support.squirrels.filters import SET_AFFINITY

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing changes")


@pytest.fixture(autouse=True)
def unfiltered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the tests run there may be a filter of system calls that allows this one."""
    monkeypatch.setattr(processors, "is_filtered", lambda: False)


def mine() -> Set[int]:
    return os.sched_getaffinity(0)


def in_a_thread() -> Set[int]:
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(mine).result()


def test_threads_that_a_block_starts_share_its_processor() -> None:
    before = mine()
    with Processors().shared():
        assert len(mine()) == 1
        assert in_a_thread() == mine() == here()
    assert mine() == before


def test_it_is_left_for_a_large_body() -> None:
    before, ours = mine(), Processors()
    assert not ours.leave(LARGE)  # nothing is shared
    with ours.shared():
        assert not ours.leave(LARGE - 1)
        assert len(mine()) == 1
        for size in (LARGE, None):
            assert ours.leave(size)
            assert mine() == before
            ours.rejoin()
            assert mine() == here()


def test_without_the_lock_of_the_interpreter_nothing_is_shared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = mine()
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    with Processors().shared():
        assert mine() == before


def test_where_the_system_cannot_or_may_not_nothing_is_shared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError

    before = mine()
    with monkeypatch.context() as patch:
        patch.setattr(os, "sched_setaffinity", refused)
        with Processors().shared():
            assert mine() == before
    for told in None, refused:
        with monkeypatch.context() as patch:
            if told is None:
                patch.delattr(os, "sched_getaffinity")
            else:
                patch.setattr(os, "sched_getaffinity", told)
            ours = Processors()
        with ours.shared():
            assert mine() == before


def test_an_interruption_at_the_begin_leaves_nothing_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    share = os.sched_setaffinity

    def interrupted(thread: int, processors: Set[int]) -> None:
        monkeypatch.undo()
        share(thread, processors)
        raise KeyboardInterrupt

    before = mine()
    monkeypatch.setattr(os, "sched_setaffinity", interrupted)
    with pytest.raises(KeyboardInterrupt), Processors().shared():
        pass
    assert mine() == before


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("store", ["a folder", "memory"])
def test_jobs_of_a_folder_share_one(
    jobs: str, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, Set[int]] = {}
    claim = Index.claim

    def claimed(index: Index, command: Claim) -> str:
        seen[command.resource.url.rpartition("/")[2]] = mine()
        return claim(index, command)

    monkeypatch.setattr(Index, "claim", claimed)
    before, folder = mine(), ["--folder", str(tmp_path / "squirrel"), "--jobs", jobs]
    with Origin({"/small": b"acorn", "/large": bytes(LARGE), "/last": b"acorn"}) as origin:
        urls = [f"{origin.url}/{name}" for name in ("small", "large", "last")]
        assert main([*urls, *folder, *(["--store", "memory://"] if store == "memory" else [])]) == 0
    shared = 1 if (jobs, store) == ("2", "a folder") else len(before)
    assert {name: len(processors) for name, processors in seen.items()} == {
        "small": shared,
        "large": len(before),
        "last": shared,
    }
    assert mine() == before


@pytest.mark.slow
@pytest.mark.skipif(SET_AFFINITY is None, reason="no number of the system call is known")
def test_a_filter_that_would_end_the_squirrel_does_not(tmp_path: Path) -> None:
    with Origin({"/nuts": b"acorn", "/more": b"acorns"}) as origin:
        words = [f"{origin.url}/nuts", f"{origin.url}/more", "--folder", str(tmp_path / "squirrel")]
        ran = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "tests.support.squirrels.filters", "ixbackoff.squirrel", *words],
            cwd=ROOT,
            capture_output=True,
            check=False,
        )
    assert (ran.returncode, ran.stderr) == (0, b"")
