"""Connections to PostgreSQL: a worker has many while it is busy, and four while it is idle."""

from __future__ import annotations

from contextlib import suppress
from time import monotonic
from typing import Any

import sqlalchemy
from sqlalchemy import event
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool
from sqlalchemy.util.queue import Empty

DRIVER = "postgresql+psycopg"
FEW = 4  # of an idle worker; its lock holds one of them, and DBOS perhaps another one
MOST = 24
CALM = 3.0  # seconds after which connections that are not needed are closed
MOMENT = 0.3  # seconds to wait for a connection that is in use, before another one is made
IDLE = 5  # seconds for which a frozen process can lock rows


class SparingPool(QueuePool):
    """A pool that makes a fifth connection only after a moment, and closes it when it is calm."""

    _grown = 0.0

    def _do_get(self) -> ConnectionPoolEntry:
        if self.checkedin() + self.checkedout() >= FEW:
            with suppress(Empty):
                return self._pool.get(True, MOMENT)
            self._grown = monotonic()
        return super()._do_get()

    def _do_return_conn(self, record: ConnectionPoolEntry) -> None:
        many = self.checkedin() + self.checkedout() > FEW
        if many and self.checkedin() and monotonic() - self._grown > CALM:
            record.close()
            self._dec_overflow()
        else:
            super()._do_return_conn(record)


def end_frozen_transactions(connection: Any, _record: object) -> None:
    connection.execute(f"set idle_in_transaction_session_timeout = '{IDLE}s'")
    connection.commit()


def server_engine(database: str) -> sqlalchemy.Engine:
    """Return the engine of a worker, or of a process that starts runs."""
    url = sqlalchemy.make_url(database).set(drivername=DRIVER)
    made = sqlalchemy.create_engine(
        url, poolclass=SparingPool, pool_size=MOST, max_overflow=0, pool_pre_ping=True
    )
    event.listen(made, "connect", end_frozen_transactions)
    return made
