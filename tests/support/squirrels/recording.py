"""A recorder of what is written, synced and renamed, in the order in which it is done."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CALLS = ("write", "copy_file_range", "fsync", "replace", "link")
FILES = {"copy_file_range": 1, "replace": 1, "link": 1}
"""The argument that is the file which is changed or made; for other calls it is the first one."""


class Recorder:
    """Records these calls to the system; what stays the same is recorded once.

    Args:
        folder: paths are recorded as seen from here.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.steps: list[tuple[str, str]] = []

    def begin(self, patched: pytest.MonkeyPatch) -> None:
        for name in CALLS:
            if hasattr(os, name):
                patched.setattr(os, name, self.recorded(name))

    def add(self, what: str, path: str) -> None:
        if [(what, path)] != self.steps[-1:]:
            self.steps.append((what, path))

    def recorded(self, name: str) -> Callable[..., Any]:
        carry_out: Callable[..., Any] = getattr(os, name)

        def record(*given: Any, **more: Any) -> Any:
            what = given[FILES.get(name, 0)]
            path = os.readlink(f"/proc/self/fd/{what}") if isinstance(what, int) else str(what)
            done = carry_out(*given, **more)
            self.add(name, os.path.relpath(path, self.folder))
            return done

        return record
