"""A recorder of what is written, synced and renamed, in the order in which it is done."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CALLS = ("write", "fsync", "replace", "mkdir", "unlink")


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
            patched.setattr(os, name, self.recorded(name))

    def add(self, what: str, path: str) -> None:
        if [(what, path)] != self.steps[-1:]:
            self.steps.append((what, path))

    def recorded(self, name: str) -> Callable[..., Any]:
        carry_out: Callable[..., Any] = getattr(os, name)

        def record(what: Any, *rest: Any, **more: Any) -> Any:
            path = os.readlink(f"/proc/self/fd/{what}") if isinstance(what, int) else str(what)
            done = carry_out(what, *rest, **more)
            self.add(name, os.path.relpath(path, self.folder))
            return done

        return record

    def within(self, *beginnings: str) -> list[tuple[str, str]]:
        """Return the steps whose paths begin so."""
        return [step for step in self.steps if step[1].startswith(beginnings)]
