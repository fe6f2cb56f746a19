"""Ctrl-C at random moments of downloads in one process, and what stays taken afterwards.

`python -m tests.support.hostile.interrupts 5000` interrupts so many, and says what is left.
"""

from __future__ import annotations

import gc
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread, active_count

from ixbackoff import N0, Download, at
from ixbackoff.live import Connections, Limits, live

from ..processes import Child

SERVER = """
import sys
from ixbackoff.testing.web import Origin
with Origin({"/a": bytes(range(256)) * 800}) as origin:
    print(origin.url, flush=True)
    sys.stdin.read()
"""
BODY = bytes(range(256)) * 800
NEXT = 100
"""Downloads that have to succeed afterwards."""
LIMITS = Limits(connect_timeout=5.0, read_timeout=5.0, total_timeout=5.0, connections=4)


@contextmanager
def served() -> Generator[str]:
    """Serve `BODY` from a process of its own; give the URL."""
    with Child(
        [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        yield f"{server.stdout.readline().strip()}/a"
        server.stdin.close()


def descriptors() -> int:
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


@contextmanager
def others(connections: Connections, url: str, folder: Path) -> Generator[None]:
    """Download in two other threads during the block; none of them may hang or fail."""
    ended, failures = Event(), list[Exception]()

    def download(path: str) -> None:
        copy, world = at(N0).do(Download(url, path)), live(connections=connections)
        try:
            while not ended.is_set():
                copy.run(world)
                ended.wait(0.01)
        except Exception as failure:
            failures.append(failure)

    threads = [Thread(target=download, args=(str(folder / name),)) for name in "bc"]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join(10.0)
    assert not failures, failures
    assert not any(thread.is_alive() for thread in threads)


def interrupted(count: int, url: str, folder: Path, seed: int = 7) -> int:
    """Interrupt `count` downloads at random moments, then do 100; return the number interrupted.

    Raises:
        AssertionError: a descriptor or a thread is left.
        Exception: one of the next 100 downloads failed.
    """
    chosen = random.Random(seed)  # noqa: S311
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    hit, before, threads = 0, descriptors(), active_count()
    with Connections(LIMITS) as connections:
        world = live(connections=connections)
        copy = at(N0).do(Download(url, str(folder / "a")))
        copy.run(world)
        begin = time.perf_counter()
        for _ in range(5):
            copy.run(world)
        whole = (time.perf_counter() - begin) / 5
        with others(connections, url, folder):
            for _ in range(count):
                try:
                    signal.setitimer(signal.ITIMER_REAL, chosen.uniform(1e-5, whole))
                    copy.run(world)
                    while True:
                        time.sleep(1.0)
                except KeyboardInterrupt:
                    hit += 1
        for _ in range(NEXT):
            copy.run(world)
            assert (folder / "a").read_bytes() == BODY
    assert (descriptors(), active_count()) == (before, threads)
    assert sorted(os.listdir(folder)) == ["a", "b", "c"]
    return hit


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    with served() as url, tempfile.TemporaryDirectory() as folder:
        hit = interrupted(count, url, Path(folder))
    print(f"{hit} interrupts, and the next {NEXT} downloads went through: nothing is left")


if __name__ == "__main__":
    main()
