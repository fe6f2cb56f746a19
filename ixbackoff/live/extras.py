"""The packages of the extra `ixbackoff[live]`, which are imported where they are used."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

EXTRA = frozenset({"anyio", "httpx2", "obstore"})


@contextmanager
def needed(by: str) -> Generator[None]:
    """Say what to install if an import in this block fails.

    Args:
        by: the name of the command or function that needs the package.

    Raises:
        ImportError: a package of the extra is missing.
    """
    try:
        yield
    except ImportError as error:
        if error.name not in EXTRA:
            raise
        raise ImportError(
            f"{by} needs {error.name}: pip install 'ixbackoff[live]'", name=error.name
        ) from None
