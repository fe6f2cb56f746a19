"""Ctrl-C, at whatever instruction it comes, leaves a thread that can go on, and no run open."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
STEP = "13"  # 1 takes a minute


@pytest.mark.slow
def test_a_thread_goes_on_after_an_interrupt_at_any_instruction() -> None:
    words = [sys.executable, "-W", "ignore", "-m", "tests.support.ways.interrupted", STEP]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("and each thread went on\n")
