"""What `ixbackoff[live]` brings, imported when it is used."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

EXTRA = frozenset({"anyio", "httpx2", "obstore"})


@contextmanager
def needed(by: str) -> Generator[None]:
    """Where a package of the extra is imported.

    Raises:
        ImportError: it is missing; with what to install.
    """
    try:
        yield
    except ImportError as error:
        if error.name not in EXTRA:
            raise
        raise ImportError(
            f"{by} needs {error.name}: pip install 'ixbackoff[live]'", name=error.name
        ) from None
