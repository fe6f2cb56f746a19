"""Handlers that cannot be interrupted."""

from __future__ import annotations

from typing import Any

from ixbackoff.testing import Virtual


def late(world: Virtual[Any], answer: int) -> int:
    """Answer 100 seconds late, as a handler that cannot be interrupted does."""
    world.now += 100
    return answer
