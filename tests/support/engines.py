"""Engines for tests: durable runs in this process, on a file of SQLite."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ixbackoff import AsyncInterpreter, Interpreter
from ixbackoff.durable import Engine, Recipe

AnyEngine = Engine[Any]
SOON = 10.0  # seconds


def url_in(folder: Path) -> str:
    return f"sqlite:///{folder}/runs.sqlite"


@contextmanager
def working(
    folder: Path,
    interpreter: Interpreter[Any] | AsyncInterpreter[Any],
    *recipes: Recipe[..., Any, Any],
    **settings: Any,
) -> Generator[AnyEngine]:
    """An engine that performs runs while the block lasts, and then leaves them where they are."""
    with Engine(interpreter, *recipes, database=url_in(folder), **settings) as engine:
        yield engine


def until(condition: Callable[[], Any]) -> Any:
    """Wait until a condition holds; return what it returned."""
    end = time.monotonic() + SOON
    while not (found := condition()):
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.01)
    return found
