"""Retries can be switched off in production, by a call and by the environment."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from ixbackoff import FOREVER, N3, Call, NotReady, at, backoff, call, enabled
from ixbackoff.testing import Virtual, answers, no_waits, single_try

OFF = "ixbackoff: tries: 1, waits: 0, 0 s in all (each ladder tries once: {})"


@pytest.fixture(autouse=True)
def _on_again() -> Iterator[None]:
    yield
    enabled(True)


@pytest.mark.parametrize("rung", [N3, FOREVER], ids=["N3", "FOREVER"])
def test_every_ladder_tries_once(rung: Any, caplog: pytest.LogCaptureFixture) -> None:
    tries: list[int] = []

    @backoff(rung)
    def ask() -> None:
        tries.append(1)
        if len(tries) < 4:
            raise NotReady

    enabled(False)
    enabled(False)
    with pytest.raises(NotReady) as raised:
        ask()
    assert raised.value.__notes__ == [OFF.format("ixbackoff.enabled(False)")]
    world = Virtual(Call.handled_by(answers(NotReady(), "page")))
    with pytest.raises(NotReady):
        at(rung).retry(call(print)).run(world.interpreter)
    assert caplog.messages == ["ixbackoff.enabled(False): every ladder tries once"]
    enabled(True)
    with no_waits() as waits:
        ask()
    assert waits.waited == [1, 2]


def test_a_switch_of_a_test_is_another_one() -> None:
    enabled(False)
    with single_try():
        enabled(True)
        with pytest.raises(NotReady) as raised:
            backoff(N3).call(fails)
    assert raised.value.__notes__ == [OFF.format("testing.single_try()")]


def fails() -> None:
    raise NotReady


@pytest.mark.parametrize(("value", "tries"), [("0", 1), ("1", 2), ("", 2)])
def test_the_environment_decides_at_the_start(value: str, tries: int) -> None:
    program = """
from ixbackoff import N1, Constant, NotReady, backoff
tries = []
@backoff(N1, schedule=Constant(0.001))
def ask():
    tries.append(1)
    raise NotReady
try:
    ask()
except NotReady:
    print(len(tries))
"""
    done = subprocess.run(  # noqa: S603  our own
        [sys.executable, "-c", program],
        env={**os.environ, "IXBACKOFF_ENABLED": value},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == str(tries)
    assert ("every ladder tries once" in done.stderr) is (tries == 1)
