"""The class of a failure: its name as a user writes it, and what it is derived from."""

from __future__ import annotations

from .._words.verdicts import Verdict


def called(failure: BaseException) -> str:
    """Return the name of a failure's class, as one writes it in `except`.

    >>> import sqlite3
    >>> called(sqlite3.OperationalError()), called(KeyError())
    ('sqlite3.OperationalError', 'KeyError')
    """
    kind = failure.__class__
    package = kind.__module__.partition("._")[0]
    return kind.__qualname__ if package == "builtins" else f"{package}.{kind.__qualname__}"


def bases(failure: BaseException) -> set[str]:
    """Return the names of a failure's class and of its bases.

    A judge that goes by names works with versions of a library that lack some of the classes.

    >>> "OSError" in bases(ConnectionResetError())
    True
    """
    return {kind.__name__ for kind in failure.__class__.__mro__}


def refused(failure: BaseException, why: str = " is not known to pass by itself") -> Verdict:
    """Make the verdict on a failure that does not pass; `why` goes on after its name."""
    return Verdict(False, why=called(failure) + why)
