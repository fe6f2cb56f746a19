"""The event loop that runs in this thread; neither library is imported before the caller has."""

from __future__ import annotations

import sys
from types import ModuleType


def running() -> tuple[ModuleType | None, ModuleType | None]:
    """`asyncio` or `trio`, whichever runs this: (asyncio, None), (None, trio) or neither."""
    trio, asyncio = sys.modules.get("trio"), sys.modules.get("asyncio")
    if trio is not None and trio.lowlevel.in_trio_run():
        return None, trio
    if asyncio is not None and asyncio._get_running_loop() is not None:
        return asyncio, None
    return None, None
