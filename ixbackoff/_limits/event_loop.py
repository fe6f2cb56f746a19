"""The event loop of this thread, found without an import of asyncio or trio."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any


def running() -> tuple[ModuleType | None, ModuleType | None]:
    """Return the library that runs the caller: (asyncio, None), (None, trio) or (None, None).

    A library that another thread is still importing may lack the functions that are called here.
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


# The code of a try may catch the cancellation of its task, and raise a failure in its place. To
# retry that would keep a task running that was asked to end. But a call that cleans up after a
# cancellation also runs in a cancelled task, and has to be retried.
#
# The count of `Task.cancelling` tells the two apart if it is read before the call, as programs,
# blocks and durable commands do. To read it first would make a call of a decorated function 50 %
# slower, so such a call reads it at its first failure, and searches the context of the failure: the
# cancellation came before the call if a frame that is still on the stack has caught it.
#
# What remains: if a task has caught its cancellation and left the `except` without `uncancel()`, a
# decorated function believes that its first try was cancelled. trio has no such count, but it
# cancels the wait before the next try if the scope around the call is cancelled.


def cancelled_since(failure: BaseException | None = None) -> Callable[[], int]:
    """Return a function that tells whether the current task has been cancelled since this call.

    Given a call's first `failure`, the function also reports cancellations in the failed try.
    """
    try:
        asyncio = sys.modules["asyncio"]
        loop = asyncio.get_running_loop()  # without a loop, raises faster than `current_task()`
        cancelling: Callable[[], int] = asyncio.current_task(loop).cancelling
    except (LookupError, AttributeError, RuntimeError):  # as in `running`, or no task is running
        return int
    before = cancelling()
    if before == 0 or not (failure is None or caught_by_a_caller(failure)):
        return cancelling
    return lambda: cancelling() > before


def caught_by_a_caller(failure: BaseException) -> bool:
    """Return whether a frame on the stack has caught the last cancellation before `failure`."""
    stack: list[FrameType] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        stack.append(frame)
        frame = frame.f_back
    cancelled: Any = sys.modules["asyncio"].CancelledError
    outside, seen = False, set[int]()
    error = failure.__context__
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        traceback = error.__traceback__
        outside = outside or (traceback is not None and traceback.tb_frame in stack)
        if isinstance(error, cancelled):
            return outside
        error = error.__context__
    return False
