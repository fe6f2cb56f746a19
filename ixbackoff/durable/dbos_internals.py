"""The private names of DBOS 3.4; no other module uses private names of DBOS."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import sqlalchemy
from dbos import DBOS, DBOSClient
from dbos._context import current_owner_xid
from dbos._migration import get_migration_versions, get_sqlite_migration_versions
from dbos._schemas.system_database import SystemSchema
from dbos._sys_db import SystemDatabase

SCHEMA = "dbos"
WAKE = "transition_delayed_workflows"
QUEUE_THREADS = "queue-worker-"
"""The prefix of the names of the threads that take runs from queues."""


def connections(client: DBOSClient | DBOS) -> sqlalchemy.Engine:
    return client._sys_db.engine


def tables(client: DBOSClient) -> type[SystemSchema]:
    return client._sys_db.tables


def tables_of(client: DBOSClient) -> list[sqlalchemy.Table]:
    return list(tables(client).workflow_status.metadata.tables.values())


def table_versions(client: DBOSClient, sqlite: bool) -> tuple[int, int]:
    """Return the version of the tables (0 if there are none), and the one that this DBOS makes."""
    if sqlite:
        return get_sqlite_migration_versions(connections(client))
    return get_migration_versions(connections(client), SCHEMA, use_listen_notify=True)


def current_owner(workflow: str) -> str:
    """Return the ownership token for a DBOS workflow, inside the task that performs it."""
    return current_owner_xid(workflow) or ""


def owner_in_database(client: DBOSClient, workflow: str) -> str | None:
    """Return the ownership token of a DBOS workflow; `None` if no task owns it."""
    return client._sys_db.get_workflow_owner(workflow)


def check_owner(
    client: DBOSClient, connection: sqlalchemy.Connection, workflow: str, owner: str
) -> None:
    """Check in a transaction that a task owns a DBOS workflow, and lock its row until the end.

    Raises:
        DBOSWorkflowConflictIDError: another task owns the workflow, or no task does.
    """
    client._sys_db._check_owner_txn(connection, workflow, owner)


def stop_reconnecting(dbos: DBOS | DBOSClient) -> None:
    """Let failing database calls raise immediately: threads that retry them would never end."""
    dbos._sys_db._retry_connection_errors = False


def nothing(self: SystemDatabase) -> None:
    """Replace DBOS's own method, which would wake parked runs by the clock of the machine."""


def launch(dbos: DBOS, now: Callable[[], float]) -> None:
    """Launch DBOS; the clock `now`, and not the machine's, decides when a parked run is due."""
    usual = SystemDatabase.transition_delayed_workflows
    setattr(SystemDatabase, WAKE, nothing)
    try:
        DBOS.launch()
    finally:
        setattr(SystemDatabase, WAKE, usual)
    rows = dbos._sys_db.tables.workflow_status
    late = rows.c.status == "DELAYED", rows.c.delay_until_epoch_ms <= sqlalchemy.bindparam("now")
    change = sqlalchemy.update(rows).where(*late).values(status="ENQUEUED")

    def wake() -> None:
        with dbos._sys_db.engine.begin() as connection:
            connection.execute(change, {"now": int(now() * 1000)})

    setattr(dbos._sys_db, WAKE, wake)


def stop_queues(dbos: DBOS, seconds: float) -> None:
    """End the threads that take runs from queues, waiting for at most `seconds`."""
    for event in dbos.background_thread_stop_events:
        event.set()
    end = time.monotonic() + seconds
    for thread in threading.enumerate():
        if thread.name.startswith(QUEUE_THREADS) and thread.is_alive():
            thread.join(max(end - time.monotonic(), 0.0))
