"""Killed at random moments, runs keep what is promised, as the file of their handlers shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..support.killing import Killing

HELD, PARKED = 60.0, 0.1  # seconds


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "hold"),
    [("copy", HELD), ("copy", PARKED), ("together", HELD)],
    ids=["held", "parked", "all_of"],
)
def test_killed_at_random_moments(kind: str, hold: float, tmp_path: Path) -> None:
    report = Killing(tmp_path, kind, hold, seed=1).until(kills=8, at_a_time=3)
    assert report.broken == [], str(report)
    assert report.kills >= 8
    assert report.repeats + report.killed_waits > 0


@pytest.mark.slow
def test_a_wait_that_is_forgotten_is_found(tmp_path: Path) -> None:
    report = Killing(tmp_path, "copy", HELD, seed=1, forget=True).until(kills=8, at_a_time=3)
    assert any(" s of " in broken for broken in report.broken), str(report)
