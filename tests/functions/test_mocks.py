"""Mocks are retried as the functions that they stand for: none of their attributes is believed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FUNCTIONS = """
import resource

resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))  # or a loop would eat all memory
resource.setrlimit(resource.RLIMIT_CPU, (10, 10))

import asyncio
import functools
import sys
from unittest import mock

from ixbackoff import N3, NotReady, backoff, plan
from ixbackoff.testing import no_waits


def page(number: int) -> int: ...
async def page_async(number: int) -> int: ...


class Pages:
    def page(self, number: int) -> int: ...
    async def page_async(self, number: int) -> int: ...


def made(kind):
    if kind.startswith("Pages."):
        return getattr(mock.create_autospec(Pages, instance=True), kind[6:])
    return {
        "Mock": mock.Mock,
        "Mock with a name": lambda: mock.Mock(__qualname__="page"),
        "Mock with a spec": lambda: mock.Mock(spec=page),
        "Mock with an async spec": lambda: mock.Mock(spec=page_async),
        "MagicMock": mock.MagicMock,
        "AsyncMock": mock.AsyncMock,
        "autospec": lambda: mock.create_autospec(page),
        "async autospec": lambda: mock.create_autospec(page_async),
        "partial": lambda: functools.partial(mock.Mock()),
    }[kind]()


def answered(answer):
    async def wait():
        return await answer

    return asyncio.run(wait()) if asyncio.iscoroutine(answer) else answer


function = made(sys.argv[1])
with no_waits() as waits:
    for call in (lambda: backoff(N3)(function)(5), lambda: backoff(N3).call(function, 5)):
        mocked = function.func if isinstance(function, functools.partial) else function
        mocked.side_effect = [NotReady("no page"), 7]
        assert answered(call()) == 7
assert waits.waited == [1, 1], waits.waited
assert backoff(N3).plan(function).seconds == plan(backoff(N3)(function)).seconds == 7
"""


@pytest.mark.parametrize(
    "kind",
    [
        "Mock",
        "Mock with a name",
        "Mock with a spec",
        "Mock with an async spec",
        "MagicMock",
        "AsyncMock",
        "autospec",
        "async autospec",
        "partial",
        "Pages.page",
        "Pages.page_async",
    ],
)
def test_a_mock_is_retried_and_planned(kind: str, tmp_path: Path) -> None:
    given = [sys.executable, "-c", FUNCTIONS, kind]
    done = subprocess.run(given, cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S603  our own
    assert done.returncode == 0, done.stderr
