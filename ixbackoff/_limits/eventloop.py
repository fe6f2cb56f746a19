"""The event loop that runs in this thread, found without importing asyncio or trio."""

from __future__ import annotations

import sys
from types import ModuleType


def running() -> tuple[ModuleType | None, ModuleType | None]:
    """Return the library that runs the caller: (asyncio, None), (None, trio) or (None, None).

    One that another thread is importing at this moment has no such functions yet, and runs nobody.
    """
    trio, asyncio = sys.modules.get("trio"), sys.modules.get("asyncio")
    try:
        if trio is not None and trio.lowlevel.in_trio_run():
            return None, trio
    except AttributeError:
        pass
    try:
        if asyncio is not None and asyncio._get_running_loop() is not None:
            return asyncio, None
    except AttributeError:
        pass
    return None, None
