"""The ways in which a simulation can perform a program."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from unittest.mock import patch

WAYS = ["retries", "streams"]


def performed_by(way: str) -> AbstractContextManager[object]:
    """Let all clients perform the stream of their program, or retry its effect where they can."""
    lean = way == "retries"
    return nullcontext() if lean else patch("ixbackoff.fleet.simulator.tried", lambda _: None)
