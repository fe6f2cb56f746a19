"""Settings of the whole suite: property tests draw the same examples in every run."""

from __future__ import annotations

import doctest
import gc
import logging
import os
import signal
import sys
import traceback
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from ixbackoff import time_limit
from ixbackoff._limits.nesting import RUNNING
from ixbackoff._limits.stopping import STOPS
from ixbackoff._meaning.retrying import ONE_TRY
from ixbackoff._running.sleeping import SWITCHES

from .support.checkers.typecheckers import CACHE
from .support.durable.databases import databases as databases
from .support.servers.postgresql import postgresql as postgresql
from .support.servers.postgresql import roomy_postgresql as roomy_postgresql
from .support.servers.s3 import moto as moto

same = settings(derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", same, max_examples=60)
settings.register_profile("quick", same, max_examples=15)
settings.load_profile("same")


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell has its background jobs ignore both, and so would the processes that tests start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)

if sys.version_info < (3, 11, 7):  # there, doctest compares only the last line: a note, often

    def in_one(*failure: Any) -> list[str]:
        return ["".join(traceback.format_exception_only(*failure))]

    doctest.traceback = SimpleNamespace(**{**vars(traceback), "format_exception_only": in_one})  # type: ignore[attr-defined]  # it imports traceback


def pytest_collection_finish() -> None:
    """Keep the collector from looking through all tests while one of them measures time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def cache_of_mypy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Have mypy read the library and the stubs of Python once for all tests that run it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CACHE, str(tmp_path_factory.mktemp("mypy")))
        yield


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Set the usual variables of AWS; the test sets the endpoint."""
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "sesame")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "opensaysme")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    return monkeypatch


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """Check that no test leaves a limit, the mark of a run, a switch or a level of the log."""
    yield
    assert time_limit() is None
    assert RUNNING.get()[0] is None
    assert STOPS.get() == ()
    assert SWITCHES == ONE_TRY == []
    assert logging.getLogger("ixbackoff").level == logging.NOTSET
