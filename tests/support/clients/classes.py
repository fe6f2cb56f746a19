"""The exception classes that a library defines, in all of its modules."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from contextlib import suppress

from ixbackoff import is_transient

UNUSABLE = ("__main__", "_main", "contrib", "worker", "pytest", "emscripten")
"""Modules that need more than the library, or run something."""


def exceptions_of(library: str) -> Iterator[type[Exception]]:
    """Yield each exception class that is defined in a library, once."""
    package = importlib.import_module(library)
    seen: set[object] = set()
    for module in (package, *submodules(package.__path__, library)):
        for found in vars(module).values():
            if (
                isinstance(found, type)
                and issubclass(found, Exception)
                and not issubclass(found, Warning)
                and found.__module__.partition(".")[0] == library
                and found not in seen
            ):
                seen.add(found)
                yield found


def submodules(path: Iterable[str], library: str) -> Iterator[object]:
    for info in pkgutil.walk_packages(path, f"{library}."):
        if not any(word in info.name for word in UNUSABLE):
            with suppress(ImportError):  # it needs an extra of the library
                yield importlib.import_module(info.name)


def passing_unseen(library: str) -> set[str]:
    """Return the classes whose failures may pass though nothing is known but the class."""
    kinds = exceptions_of(library)
    return {kind.__qualname__ for kind in kinds if is_transient(kind.__new__(kind))}
