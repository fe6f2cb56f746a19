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

ENDING = 0.02  # seconds: the kernel may list a thread for a moment after its end


@contextmanager
def worker_pool(workers: int) -> Generator[Executor]:
    """Make a pool of `workers` processes for this block; end them at once if the block fails."""
    # fork takes 10 ms, spawn 300, but fork is safe only without threads
    method = "fork" if sys.platform == "linux" and is_alone() else "spawn"
    executor = ProcessPoolExecutor(workers, get_context(method), initializer=begin)
    try:
        yield executor
    except BaseException:  # Ctrl-C, too: a simulation can take minutes
        terminate(executor)
        raise
    finally:
        executor.shutdown()


def check_alive(executor: Executor) -> None:
    """Terminate the executor if a worker is dead, so that its futures fail.

    An executor notices a dead worker itself, unless its thread is waiting for the rest of a result
    from that worker.
    """
    assert isinstance(executor, ProcessPoolExecutor)
    if wait([worker.sentinel for worker in [*(executor._processes or {}).values()]], 0):
        terminate(executor)


def terminate(executor: ProcessPoolExecutor) -> None:
    """End the workers immediately, even while one sends a result.

    The thread that receives a half-sent result would wait for its rest for ever, because this
    process holds the writing end of the pipe as well. So this function closes that end.
    """
    for worker in [*(executor._processes or {}).values()]:  # Python 3.14: terminate_workers()
        worker.terminate()
    sender: Any = executor._result_queue
    sender._writer.close()


def is_alone() -> bool:
    """Return whether this process has one thread; wait a moment for threads that are ending."""
    until = monotonic() + ENDING
    while len(os.listdir("/proc/self/task")) > 1:
        if active_count() > 1 or monotonic() > until:
            return False
        os.sched_yield()
    return True


def begin() -> None:
    """Prepare a worker: it ignores Ctrl-C, ends on SIGTERM, and ends when its parent has ended.

    A forked worker would otherwise inherit the parent's handler of SIGTERM.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    Thread(target=end_with_parent, daemon=True).start()


def end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
