"""The present start of the machine."""

from __future__ import annotations

from functools import cache
from pathlib import Path

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@cache
def boot_id() -> str:
    """Return what tells this start of the machine from others; empty where that is not known."""
    try:
        return BOOT_ID.read_text().strip()
    except OSError:
        return ""
