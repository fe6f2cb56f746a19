"""The current boot of the machine, and its clock."""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path
from typing import NamedTuple

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Boot(NamedTuple):
    """A reading of the boot clock, which cannot be set and counts sleep."""

    id: str  # the id of the boot; empty where the system has none
    seconds: float  # the seconds since the boot; without such a clock, those of `time.monotonic`


@cache
def boot_id() -> str:
    try:
        return BOOT_ID.read_text().strip()
    except OSError:
        return ""


def since_boot() -> Boot:
    try:
        return Boot(boot_id(), time.clock_gettime(time.CLOCK_BOOTTIME))
    except (OSError, AttributeError):
        return Boot("", time.monotonic())
