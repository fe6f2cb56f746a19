"""Names in the errors of the operating system."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def naming(path: str) -> Generator[None]:
    """Let errors of the operating system name `path`, whichever file they came from."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, path) from None
