"""Clocks that a crash does not stop: the boot clock, and the clock of the database."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TextIO

from .._running.boot_clock import since_boot

AGE = 60.0  # seconds after which `DatabaseClock` asks the database for its time again


def left(wait: Mapping[str, Any], now: float) -> float:
    """Return the remaining seconds of a wait, given its entry; negative if the wait is over.

    If the entry has the current boot id, the boot clock decides. After a reboot, or on another
    machine, the shared clock, `now`, decides; the result is then at most the whole wait.
    """
    boot = since_boot()
    if boot.id and boot.id == wait["boot"]:
        return float(wait["boot_due"]) - boot.seconds
    return min(float(wait["due"]) - now, float(wait["seconds"]))


def clock_in(file: TextIO) -> Callable[[], float]:
    """Return a clock, in seconds since the epoch, that cannot be set: it counts from the boot.

    The first process after a boot stores the boot's id and time (by the system clock) in `file`.
    If the boot has no id, return the system clock.
    """
    boot = since_boot()
    if not boot.id:
        return time.time
    began = time.time() - boot.seconds
    with suppress(ValueError):
        known, text = file.read().split()
        began = float(text) if known == boot.id else began
    file.seek(0)
    file.truncate()
    print(boot.id, began, file=file, flush=True)
    return lambda: began + since_boot().seconds


class DatabaseClock:
    """The clock of a database, which all workers share, in seconds since the epoch.

    `ask` reads it at most once a minute; in between, and during outages, `time.monotonic` counts.
    """

    def __init__(self, ask: Callable[[], float]) -> None:
        self._ask = ask
        self._offset = self._measured()
        self._read = time.monotonic()

    def _measured(self) -> float:
        before = time.monotonic()
        there = self._ask()
        return there - (before + time.monotonic()) / 2

    def __call__(self) -> float:
        if time.monotonic() - self._read > AGE:
            self._read = time.monotonic()  # before the query, so that other threads make none
            with suppress(Exception):
                self._offset = self._measured()
        return time.monotonic() + self._offset
