"""A plugin for pytest: tests that cannot run in WebAssembly are left out, and it says why."""

from __future__ import annotations

import _thread
import os
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Generator
from typing import Any, TypeVar

import pytest

from ixbackoff._meaning.retrying import ONE_TRY
from ixbackoff._running.sleeping import SWITCHES

ABSENT = ("dbos", "matplotlib", "resource")
"""Modules that do not exist for WebAssembly, or are large."""

SOCKET = "a socket"

R = TypeVar("R", pytest.TestReport, pytest.CollectReport)

needed: set[str] = set()
"""What the present test has asked for in vain."""

left_out: Counter[tuple[str, str]] = Counter()
"""How many tests are left out, by reason and file."""


def noted(place: object, name: str, need: str) -> None:
    """Note that a test needs something, whenever it calls this; node would end with a socket."""
    before: Callable[..., Any] | None = getattr(place, name, None)

    def noting(*args: Any, **kwargs: Any) -> Any:
        needed.add(need)
        if before is None or need == SOCKET:
            raise OSError(f"There is not {need} here.")
        return before(*args, **kwargs)

    setattr(place, name, noting)


class Finder:
    """The last finder of modules: what it is asked for does not exist."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name in ABSENT:
            needed.add(f"the module {name}")


def pytest_configure() -> None:
    noted(threading.Thread, "start", "a thread")
    noted(_thread, "start_new_thread", "a thread")
    noted(subprocess.Popen, "__init__", "a process")
    noted(os, "fork", "a process")
    noted(os, "openpty", "a terminal")
    for name in ("bind", "connect", "listen"):
        noted(socket.socket, name, SOCKET)
    sys.meta_path.append(Finder())


def pytest_runtest_logstart() -> None:
    needed.clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return without_failure((yield), needed)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    needed.clear()
    return without_failure((yield), needed)


def without_failure(report: R, reasons: set[str]) -> R:
    """Make a failure of what is not there into a test that is left out."""
    if report.failed and reasons:
        reason = " and ".join(sorted(reasons))
        file = report.nodeid.partition("::")[0]
        left_out[reason, file] += 1
        report.outcome = "skipped"
        report.longrepr = (file, 0, f"needs {reason}")
    return report


def pytest_runtest_logfinish() -> None:
    """Take back what a test that was left out in its middle has switched."""
    if needed:
        SWITCHES.clear()
        ONE_TRY.clear()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.section("left out, by what they need")
    for (reason, file), count in sorted(left_out.items()):
        terminalreporter.line(f"{reason:30} {count:4}  {file}")
    terminalreporter.line("What is marked as slow is left out, too.")
