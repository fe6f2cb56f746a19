"""Tracebacks, in which judges find facts that a failure lacks, such as its request.

If a traceback was cleared, or another version of a library names a function differently, the judge
finds nothing, and goes by the class of the failure alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from types import FrameType
from typing import Any


def frames(failure: BaseException) -> Iterator[FrameType]:
    """Yield the frames through which a failure came, the outermost first."""
    traceback = failure.__traceback__
    while traceback is not None:
        yield traceback.tb_frame
        traceback = traceback.tb_next


def variables(
    failure: BaseException, functions: Collection[tuple[str, str]]
) -> Iterator[Mapping[str, Any]]:
    """Yield the locals of each call of `functions`, pairs of module and name, outermost first."""
    for frame in frames(failure):
        if (frame.f_globals.get("__name__", ""), frame.f_code.co_name) in functions:
            yield frame.f_locals


def through(failure: BaseException, module: str, *functions: str) -> bool:
    """Return whether a call of one of `functions`, by default of any, is in a traceback.

    `module` is the module of the functions, or a package with all its modules.
    """
    for frame in frames(failure):
        inside = f"{frame.f_globals.get('__name__', '')}.".startswith(f"{module}.")
        if inside and (not functions or frame.f_code.co_name in functions):
            return True
    return False
