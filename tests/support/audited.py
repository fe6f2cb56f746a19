"""Programs that are audited, and then run against a server that fails, to count their requests."""

from __future__ import annotations

import asyncio
import importlib.util
import socket
import time
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from textwrap import dedent
from threading import Thread
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


@pytest.fixture
def closing() -> Generator[tuple[str, list[None]]]:
    """A server that closes each connection at once, and counts them."""
    accepted: list[None] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                accepted.append(None)
                connection.close()

        thread = Thread(target=serve, daemon=True)
        thread.start()
        yield f"redis://127.0.0.1:{server.getsockname()[1]}", accepted
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
