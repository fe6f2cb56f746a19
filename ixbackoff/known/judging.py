"""The name and the bases of a failure's class, and the verdicts that judges make with them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from .._words.verdicts import Judge, Verdict


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


def permanent(failure: BaseException, why: str = " is not known to pass by itself") -> Verdict:
    """Make the verdict on a permanent failure, whose reason is its name followed by `why`."""
    return Verdict(False, why=name_of(failure) + why)


def transient_if(holds: Callable[[Any], object]) -> Judge:
    """Return a judge of failures that are transient if `holds` is true of them."""
    return lambda failure: Verdict(True) if holds(failure) else permanent(failure)
