"""Checks of the owner, the schema and the rows of a database, before anything in it is decoded.

DBOS unpickles each row that is marked as pickled, even if DBOS was given another serializer, and
unpickling runs any code that the row names. ixbackoff writes JSON only.
"""

from __future__ import annotations

import os
from contextlib import suppress

import sqlalchemy

from .._words.commands import Misuse

SERIALIZATION = "portable_json"
FILES = ("", "-wal", "-journal", "-shm")  # the suffixes of the files that SQLite reads


def check_owner_of(path: str) -> None:
    """Raise Misuse if a file of SQLite belongs to another user, or has a second name."""
    path = os.path.realpath(path)
    with suppress(FileNotFoundError):
        if os.path.isfile(path) and os.stat(path).st_nlink > 1:
            raise Misuse(
                f"The file {path} has another name (a hard link), by which two engines could use "
                "it: remove one of the names."
            )
    for ending in FILES if hasattr(os, "geteuid") else ():
        with suppress(FileNotFoundError):
            if os.stat(path + ending).st_uid != os.geteuid():
                raise Misuse(
                    f"The file {path}{ending} belongs to another user, and its rows could run code "
                    "here: run this program as that user, or give another database."
                )


def check_schema(engine: sqlalchemy.Engine) -> None:
    """Raise Misuse if a file of SQLite has a trigger or a view; an empty file passes.

    A trigger or a view could add rows after the check of the rows.
    """
    made = sqlalchemy.text(
        "select name from sqlite_master where type in ('trigger', 'view') limit 1"
    )
    with engine.begin() as connection:
        if connection.execute(made).first() is not None:
            raise Misuse(
                "This database has triggers or views, and ixbackoff makes none: give a database "
                "of its own."
            )


def check_rows(engine: sqlalchemy.Engine, tables: list[sqlalchemy.Table]) -> None:
    """Raise Misuse if a row is not JSON: DBOS could unpickle it."""
    marks = [table.c.serialization for table in tables if "serialization" in table.c]
    with engine.begin() as connection:
        for mark in marks:
            foreign = sqlalchemy.select(mark).where(mark != SERIALIZATION).limit(1)
            if connection.execute(foreign).first() is not None:
                raise Misuse(
                    f"The table {mark.table.name} of this database has rows that ixbackoff did not "
                    "write, and reading them could run any code: give a database of its own."
                )
