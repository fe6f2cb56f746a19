"""The current boot of the machine."""

from __future__ import annotations

from functools import cache
from pathlib import Path

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@cache
def boot_id() -> str:
    """Return the id of the current boot; empty on a system without one."""
    try:
        return BOOT_ID.read_text().strip()
    except OSError:
        return ""
