"""Exploring needs no extra: the journal of durable runs is there without its engine."""

from __future__ import annotations

import subprocess
import sys

HIDDEN = """
import sys
for name in ("dbos", "sqlalchemy", "hypothesis"):
    sys.modules[name] = None
"""

EXPLORED = """
from ixbackoff import N1, Log, at
from ixbackoff.testing.exploring import Model, dies, histories
world = Model(list, lambda world: Log.handled_by(lambda command: world.append(command.message)))
assert world.explore(at(N1).retry(Log("a")), faults=dies("durably")).histories > 1
"""

REFUSED = """
try:
    histories()
except ImportError as error:
    assert str(error).startswith("histories needs hypothesis: pip install '.[exploring]'"), error
try:
    from ixbackoff.durable import Engine
except ImportError as error:
    assert "pip install '.[durable]' in a checkout of ixbackoff" in str(error), error
from ixbackoff.durable import CurrentCommand, current_command
"""


def test_it_is_explored_without_them() -> None:
    code = HIDDEN + EXPLORED + REFUSED
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603
