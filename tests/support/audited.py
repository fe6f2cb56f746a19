"""Programs that are audited, and then run against a server that fails, to count their requests."""

from __future__ import annotations

import asyncio
import importlib.util
import time
from contextlib import suppress
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from ixbackoff._door.audit.stacks import Stack, walked


def audited(text: str, folder: Path) -> list[Stack]:
    """Return the stacks of a program that are sure."""
    (folder / "program.py").write_text(dedent(text))
    return [one for one in walked([(folder / "program.py", folder)]).all() if one.sure]


def counted(folder: Path, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """Run `main()` of the program in a folder, without its waits; `ORIGIN` is the address."""

    async def at_once(*_: object, **__: object) -> None:
        return None

    monkeypatch.setenv("ORIGIN", url)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    monkeypatch.setattr(asyncio, "sleep", at_once)
    spec = importlib.util.spec_from_file_location("program", folder / "program.py")
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with suppress(Exception):
        module.main()
