"""Durable runs: programs that go on after a crash, on SQLite or PostgreSQL, with DBOS."""

from typing import TYPE_CHECKING, Any

from .._words.extras import needed
from .codec import Unrecordable, recordable
from .journal import Asked, asked

if TYPE_CHECKING:
    from .engine import Engine, Run
    from .recipes import Recipe, durable

__all__ = [
    "Asked",
    "Engine",
    "Recipe",
    "Run",
    "Unrecordable",
    "asked",
    "durable",
    "recordable",
]

for _public in (Asked, Unrecordable, asked, recordable):
    _public.__module__ = __name__  # or a traceback would say ixbackoff.durable.codec.Unrecordable
del _public


def __getattr__(name: str) -> Any:
    """Import what needs the engine where it is used: the journal is there without it."""
    if name not in ("Engine", "Recipe", "Run", "durable"):
        raise AttributeError(f"module {__name__} has no attribute {name}")
    with needed("ixbackoff.durable", "durable", ["dbos", "sqlalchemy"]):
        from .engine import Engine, Run
        from .recipes import Recipe, durable
    for public in (Engine, Recipe, Run, durable):
        public.__module__ = __name__
        globals()[public.__name__] = public
    return globals()[name]
