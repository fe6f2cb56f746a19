"""A pool of worker processes that outlives neither its block nor the process that began it."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Generator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from threading import Thread, active_count
from time import monotonic
from typing import Any

ENDING = 0.02  # seconds that the kernel may still show a thread that has ended


@contextmanager
def processes(workers: int) -> Generator[Executor]:
    """Have so many worker processes in this block; if it fails, they are ended at once.

    >>> with processes(1) as executor:
    ...     executor.submit(abs, -1).result()
    1
    """
    executor = ProcessPoolExecutor(workers, get_context(start_method()), initializer=begin)
    try:
        yield executor
    except BaseException:  # Ctrl-C, too: a simulation can take minutes, and nobody wants it now
        terminate(executor)
        raise
    finally:
        executor.shutdown()


def terminate(executor: ProcessPoolExecutor) -> None:
    """End the workers at once, whatever they are at.

    One may be sending a result. The thread that receives it would wait for the rest of it, since
    this process could be the sender, too.
    """
    for worker in [*(executor._processes or {}).values()]:  # Python 3.14: terminate_workers()
        worker.terminate()
    sender: Any = executor._result_queue
    sender._writer.close()


def start_method() -> str:
    """Choose how processes start: fork takes 10 ms and not 300, but is for a single thread only."""
    return "fork" if sys.platform == "linux" and is_alone() else "spawn"


def is_alone() -> bool:
    """Return true if this process has a single thread; others may be about to end."""
    until = monotonic() + ENDING
    while len(os.listdir("/proc/self/task")) > 1:
        if active_count() > 1 or monotonic() > until:
            return False
        os.sched_yield()
    return True


def begin() -> None:
    """Begin a worker: Ctrl-C is its parent's matter, and it ends if its parent does, or wants it.

    What its parent does at SIGTERM is not for it to do.
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
