"""Handlers that cannot be ended."""

from __future__ import annotations

from typing import Any

from ixbackoff.testing import Virtual


def late(world: Virtual[Any], answer: int) -> int:
    """Answer 100 seconds late, as a handler that cannot be ended does."""
    world.now += 100
    return answer
