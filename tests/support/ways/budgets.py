"""Running one program with a budget, and observing it."""

from __future__ import annotations

from typing import Any

import pytest

from ixbackoff import RetryBudget
from ixbackoff.testing import Virtual, answers

from .programs import Ask

ASK = Ask("a")


def world_of(*script: Any) -> Virtual[Any]:
    return Virtual(Ask.handled_by(answers(*script)))


def outcome(program: Any, budget: RetryBudget, *script: Any) -> Any:
    """Run a program; return its value or its failure, and how often it waited."""
    world = world_of(*script)
    try:
        return program.run(world.interpreter, budget=budget)
    except Exception as failure:
        return type(failure), len(world.waits)


def approximately(tokens: float) -> Any:
    return pytest.approx(tokens, abs=1e-9)
