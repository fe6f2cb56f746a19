"""Durable runs: programs that continue after a crash, on SQLite or PostgreSQL, with DBOS."""

from typing import TYPE_CHECKING, Any

from .._words.extras import needed
from .._words.wrong_arguments import explain_arguments
from .codec import Unrecordable, recordable
from .idempotency import CurrentCommand, current_command

if TYPE_CHECKING:
    from .engine import Engine, WorkflowHandle
    from .summaries import RunSummary
    from .workflows import Workflow, durable

__all__ = [
    "CurrentCommand",
    "Engine",
    "RunSummary",
    "Workflow",
    "WorkflowHandle",
    "Unrecordable",
    "current_command",
    "durable",
    "recordable",
]

for _public in (CurrentCommand, Unrecordable, current_command, recordable):
    _public.__module__ = __name__  # or a traceback would say ixbackoff.durable.codec.Unrecordable
del _public


def __getattr__(name: str) -> Any:
    """Import `name`, which needs DBOS, when it is used first: the other names work without DBOS."""
    if name not in ("Engine", "RunSummary", "Workflow", "WorkflowHandle", "durable"):
        raise AttributeError(f"module {__name__} has no attribute {name}")
    with needed("ixbackoff.durable", "durable", ["dbos", "sqlalchemy"]):
        from .engine import Engine, WorkflowHandle
        from .summaries import RunSummary
        from .workflows import Workflow, durable
    for public in (Engine, RunSummary, Workflow, WorkflowHandle, durable):
        public.__module__ = __name__
        globals()[public.__name__] = public
    explain_arguments(globals(), ("Engine", "durable"))
    return globals()[name]
