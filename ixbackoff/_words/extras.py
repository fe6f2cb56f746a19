"""Optional packages, which are imported where they are used."""

from __future__ import annotations

from collections.abc import Collection, Generator
from contextlib import contextmanager

LIVE = frozenset({"anyio", "httpx2", "obstore", "portalocker"})
"""The packages of the extra `ixbackoff[live]`."""
INSTALL = "pip install '.[{}]' in a checkout of ixbackoff"  # in messages; a release changes it


@contextmanager
def needed(by: str, extra: str, packages: Collection[str]) -> Generator[None]:
    """Name the extra to install if an import of one of its `packages` fails in this block."""
    try:
        yield
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        if package not in packages:
            raise
        message = f"{by} needs {package}: {INSTALL.format(extra)}"
        raise ImportError(message, name=package) from None
