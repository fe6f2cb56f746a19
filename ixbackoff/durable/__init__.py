"""Durable runs: programs that go on after a crash, on SQLite or PostgreSQL, with DBOS."""

from typing import TYPE_CHECKING, Any

from .._words.extras import needed
from .codec import Unrecordable, recordable
from .journal import CurrentCommand, current_command

if TYPE_CHECKING:
    from .engine import Engine, Run
    from .recipes import Workflow, durable

__all__ = [
    "CurrentCommand",
    "Engine",
    "Workflow",
    "Run",
    "Unrecordable",
    "current_command",
    "durable",
    "recordable",
]

for _public in (CurrentCommand, Unrecordable, current_command, recordable):
    _public.__module__ = __name__  # or a traceback would say ixbackoff.durable.codec.Unrecordable
del _public


def __getattr__(name: str) -> Any:
    """Import what needs the engine where it is used: the journal is there without it."""
    if name not in ("Engine", "Workflow", "Run", "durable"):
        raise AttributeError(f"module {__name__} has no attribute {name}")
    with needed("ixbackoff.durable", "durable", ["dbos", "sqlalchemy"]):
        from .engine import Engine, Run
        from .recipes import Workflow, durable
    for public in (Engine, Workflow, Run, durable):
        public.__module__ = __name__
        globals()[public.__name__] = public
    return globals()[name]
