"""A test that fails does not wait for the processes that it started."""

from __future__ import annotations

import sys
from signal import SIGKILL

import pytest

from ..support.processes import Child


def test_a_process_ends_when_its_block_fails() -> None:
    with (
        pytest.raises(AssertionError, match="as planned"),
        Child([sys.executable, "-c", "input()"], stdin=-1, stdout=-1) as process,
    ):
        raise AssertionError("as planned")
    assert process.returncode == -SIGKILL


def test_it_is_awaited_when_its_block_succeeds() -> None:
    with Child([sys.executable, "-c", "input()"], stdin=-1) as process:
        pass
    assert process.returncode == 1, "its standard input was closed"
