"""The packages of the extra `ixbackoff[live]`, which are imported where they are used."""

from __future__ import annotations

from contextlib import AbstractContextManager

from .._words import extras

EXTRA = frozenset({"anyio", "httpx2", "obstore", "portalocker"})


def needed(by: str) -> AbstractContextManager[None]:
    """Say what to install if an import in this block fails.

    Args:
        by: the name of the command or function that needs the package.

    Raises:
        ImportError: a package of the extra is missing.
    """
    return extras.needed(by, "live", EXTRA)
