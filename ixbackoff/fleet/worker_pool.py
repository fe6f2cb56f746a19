"""A pool of worker processes that outlives neither its block nor the process that started it."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Generator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from threading import Thread, active_count
from time import monotonic
from typing import Any

ENDING = 0.02  # seconds for which the kernel may still list an ended thread


@contextmanager
def worker_pool(workers: int) -> Generator[Executor]:
    """Start `workers` processes for this block; if the block fails, they end immediately.

    >>> with worker_pool(1) as executor:
    ...     executor.submit(abs, -1).result()
    1
    """
    executor = ProcessPoolExecutor(workers, get_context(start_method()), initializer=begin)
    try:
        yield executor
    except BaseException:  # Ctrl-C, too: a simulation can take minutes
        terminate(executor)
        raise
    finally:
        executor.shutdown()


def check_alive(executor: Executor) -> None:
    """Terminate the executor if a worker is dead: its futures fail then.

    The executor sees by itself that a worker has died, except while the thread that would see it
    waits for the rest of a result that this worker was sending.
    """
    assert isinstance(executor, ProcessPoolExecutor)
    if wait([worker.sentinel for worker in [*(executor._processes or {}).values()]], 0):
        terminate(executor)


def terminate(executor: ProcessPoolExecutor) -> None:
    """End the workers immediately, even while one sends a result.

    The thread that receives a half-sent result would wait for the rest of it for ever, because this
    process holds the writing end of the pipe, too: so that end is closed.
    """
    for worker in [*(executor._processes or {}).values()]:  # Python 3.14: terminate_workers()
        worker.terminate()
    sender: Any = executor._result_queue
    sender._writer.close()


def start_method() -> str:
    """Choose how processes start: fork takes 10 ms, not 300, but is safe with one thread only."""
    return "fork" if sys.platform == "linux" and is_alone() else "spawn"


def is_alone() -> bool:
    """Return whether this process has a single thread; wait for threads that are about to end."""
    until = monotonic() + ENDING
    while len(os.listdir("/proc/self/task")) > 1:
        if active_count() > 1 or monotonic() > until:
            return False
        os.sched_yield()
    return True


def begin() -> None:
    """Prepare a worker: the parent handles Ctrl-C, SIGTERM ends it, and so does the parent's end.

    A forked worker would otherwise inherit the parent's handler of SIGTERM.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    Thread(target=end_with_parent, daemon=True).start()


def end_with_parent() -> None:
    """Wait until the parent has ended, then end this process."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
