"""Ctrl-C and cancellations in a download: nothing stays taken that the next one needs."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpcore2
import httpx2
import pytest
import trio

from ixbackoff import N0, AsyncInterpreter, Download, Standard, at
from ixbackoff.live import Connections, Limits, live, live_async
from ixbackoff.live.host_gates import HostGate
from ixbackoff.live.part_files import OPEN, PartFile
from ixbackoff.live.pools import Pool, WatchedConnection
from ixbackoff.live.resumable_downloads import OVERLAP
from ixbackoff.testing.web import Document, Origin, Slow

from ..support.ways.live import PATIENT, open_descriptors

ROOT = Path(__file__).parents[2]
BODY = b"acorn" * 20_000
LARGE = bytes(range(256)) * 4000
ONE = Limits(connect_timeout=2.0, read_timeout=2.0, total_timeout=2.0, connections=1)


@pytest.mark.slow
def test_400_at_random_moments_leave_nothing_behind() -> None:
    words = [sys.executable, "-m", "tests.support.hostile.interrupts", "400"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=120)  # noqa: S603
    assert done.stdout.endswith("the next 100 downloads went through: nothing is left\n"), done


MOMENTS: list[tuple[type, str]] = [
    (PartFile, "__exit__"),
    (PartFile, "commit"),
    (HostGate, "enter"),
    (HostGate, "leave"),
    (Pool, "handle_request"),
    (WatchedConnection, "handle_request"),
    (httpx2.Response, "close"),
    (httpcore2.ConnectionPool, "_assign_requests_to_connections"),
]


@pytest.mark.parametrize(
    ("owner", "name"), MOMENTS, ids=lambda each: getattr(each, "__name__", each)
)
@pytest.mark.parametrize("etag", ['"v1"', None])
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_an_interrupt_there_takes_nothing_from_the_next_download(
    owner: type, name: str, etag: str | None, before: bool, tmp_path: Path
) -> None:
    carry_out: Callable[..., Any] = getattr(owner, name)
    interrupts = [KeyboardInterrupt()]

    def interrupted(*arguments: Any, **named: Any) -> Any:
        if before and interrupts:
            raise interrupts.pop()
        done = carry_out(*arguments, **named)
        if interrupts:
            raise interrupts.pop()
        return done

    target = tmp_path / "a"
    with Origin({"/a": Document(BODY, etag=etag)}) as origin, Connections(ONE) as connections:
        copy = at(N0).do(Download(f"{origin.url}/a", str(target)))
        world = live(connections=connections)
        copy.run(world)
        before_it = open_descriptors()
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(owner, name, interrupted)
            with pytest.raises(KeyboardInterrupt):
                copy.run(world)
        copy.run(world)
        assert target.read_bytes() == BODY
        assert os.listdir(tmp_path) == ["a"]
        end = time.monotonic() + 2.0
        while open_descriptors() > before_it:  # the origin closes its own ones in its own time
            assert time.monotonic() < end
            time.sleep(0.01)
    assert not OPEN


@pytest.mark.parametrize("loop", ["asyncio", "trio"])
def test_the_next_run_goes_on_after_a_cancellation(loop: str, tmp_path: Path) -> None:
    def cancel_at_half(cancel: Callable[[], object]) -> AsyncInterpreter[Standard]:
        def progress(command: Download, received: int, expected: int | None) -> None:
            if received >= len(LARGE) // 2:
                cancel()

        return live_async(progress=progress, limits=PATIENT)

    async def in_asyncio() -> None:
        running = asyncio.ensure_future(copy.run_async(cancel_at_half(lambda: running.cancel())))
        with pytest.raises(asyncio.CancelledError):
            await running

    async def in_trio() -> None:
        with trio.CancelScope() as scope:
            await copy.run_async(cancel_at_half(scope.cancel))
        assert scope.cancelled_caught

    with Origin({"/a": LARGE}, {"GET /a": [Slow(0.01, 64 * 1024)]}) as origin:
        copy = at(N0).do(Download(f"{origin.url}/a", str(tmp_path / "a")))
        asyncio.run(in_asyncio()) if loop == "asyncio" else trio.run(in_trio)
        there = (tmp_path / ".a.part").stat().st_size
        assert len(LARGE) // 2 <= there < len(LARGE)
        copy.run(live())
    assert (tmp_path / "a").read_bytes() == LARGE
    assert list(tmp_path.iterdir()) == [tmp_path / "a"]
    assert origin.requests[-1].headers["range"] == f"bytes={there - OVERLAP}-"
