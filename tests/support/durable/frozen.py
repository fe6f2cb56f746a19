"""A worker that freezes in a command: `python -m tests.support.durable.frozen DATABASE RECORD`."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from ixbackoff import N0, at, call
from ixbackoff.durable import Engine, current_command, durable
from ixbackoff.live import live

from ..kills.programs import Record


def tell(record: Path, said: str, freeze: bool) -> str:
    """Tell the file what is performed, and freeze meanwhile unless it was performed before."""
    mine = current_command()
    assert mine is not None
    Record(record).tell("begin", mine.place, mine.repeated, said)
    if freeze and not mine.repeated:
        os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(0.2)  # the signal may come to another thread first
    Record(record).tell("end", mine.place, mine.repeated, said)
    return said


@durable(name="frozen")
def frozen(record: Path, freeze: bool) -> Any:
    """Three commands; the process freezes in the second one, or in none."""
    program: Any = at(N0).do(call(tell, record, "first", False))
    return program.do(call(tell, record, "second", freeze)).do(call(tell, record, "third", False))


if __name__ == "__main__":
    with Engine(live(), frozen, database=sys.argv[1]):
        threading.Event().wait()
