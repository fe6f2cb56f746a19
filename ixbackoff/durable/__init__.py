"""Durable runs: programs that go on after a crash, on SQLite or PostgreSQL, with DBOS."""

from .._words.extras import needed

with needed("ixbackoff.durable", "durable", ["dbos", "sqlalchemy"]):
    from .codec import Unrecordable, recordable
    from .engine import Engine, Run
    from .journal import Asked, asked
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

for _public in (Asked, Engine, Recipe, Run, Unrecordable, asked, durable, recordable):
    _public.__module__ = __name__  # or a traceback would say ixbackoff.durable.codec.Unrecordable
del _public
