"""Ctrl-C, wherever it strikes, leaves a thread that can go on, and no run open."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


def done_by(module: str, number: str) -> str:
    words = [sys.executable, "-W", "ignore", "-m", f"tests.support.ways.{module}", number]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_thread_goes_on_after_an_interrupt_wherever_one_can_strike() -> None:
    assert done_by("interrupted", "8").endswith("and each thread went on\n")


@pytest.mark.slow
def test_a_thread_goes_on_after_real_signals() -> None:
    assert done_by("signalled", "1000") == (
        "1000 signals: no mark is left, and each run has ended once\n"
    )
