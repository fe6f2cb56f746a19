"""Ctrl-C, at whatever instruction of a run it comes, leaves a thread that can go on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def test_a_thread_goes_on_after_an_interrupt_at_any_instruction() -> None:
    words = [sys.executable, "-W", "ignore", "-m", "tests.support.interrupted", "3000"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
    assert done.stdout == "3000 runs were interrupted, and each thread went on\n"
