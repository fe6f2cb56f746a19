"""Helpers of judges: facts from the class and traceback of a failure, and verdicts.

The traceback has facts that a failure lacks, such as its request. If the traceback was cleared, or
another version of a library names a function differently, the judge goes by the failure's class.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from types import FrameType
from typing import Any

from .._words.judging import Judge, Verdict


def name_of(failure: BaseException) -> str:
    """Return the name of a failure's class, as it is written after `except`.

    >>> import http.client
    >>> name_of(http.client.BadStatusLine("")), name_of(KeyError())
    ('http.client.BadStatusLine', 'KeyError')
    """
    kind = failure.__class__
    if kind.__module__ == "builtins":
        return kind.__qualname__
    package = kind.__module__.partition(".")[0]
    short = getattr(sys.modules.get(package), kind.__qualname__, None) is kind
    return f"{package if short else kind.__module__}.{kind.__qualname__}"


def bases(failure: BaseException) -> set[str]:
    """Return the names of a failure's class and of its bases.

    A judge that goes by names works with versions of a library that lack some of the classes.
    """
    return {kind.__name__ for kind in failure.__class__.__mro__}


def frames(failure: BaseException) -> Iterator[FrameType]:
    """Yield the frames through which a failure came, the outermost first."""
    traceback = failure.__traceback__
    while traceback is not None:
        yield traceback.tb_frame
        traceback = traceback.tb_next


def variables(
    failure: BaseException, functions: Collection[tuple[str, str]]
) -> Iterator[Mapping[str, Any]]:
    """Yield the locals of each call of `functions` (pairs of module and name), outermost first."""
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


def permanent(failure: BaseException, why: str = " is not known to pass by itself") -> Verdict:
    """Make the verdict on a permanent failure: the reason is the failure's name and then `why`."""
    return Verdict(False, why=name_of(failure) + why)


def transient_if(holds: Callable[[Any], object]) -> Judge:
    """Return a judge of failures that are transient if `holds` is true of them."""
    return lambda failure: Verdict(True) if holds(failure) else permanent(failure)
