"""The event loop of this thread, found without an import of asyncio or trio."""

from __future__ import annotations

import sys
from types import ModuleType


def running() -> tuple[ModuleType | None, ModuleType | None]:
    """Return the library that runs the caller: (asyncio, None), (None, trio) or (None, None).

    A library that another thread is importing may not have these functions yet.
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
