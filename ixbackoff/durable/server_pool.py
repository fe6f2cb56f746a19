"""Connections to PostgreSQL: a worker has many while it is busy, at most four while it is idle."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, cast

import sqlalchemy
from sqlalchemy import event
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool
from sqlalchemy.util.queue import Empty

DRIVER = "postgresql+psycopg"
FEW = 4  # connections of an idle worker: its lock holds one, and DBOS perhaps another one
SPARE = 2  # connections that stay open although no thread uses them
MOST = 24  # connections of a worker
MOMENT = 0.3  # seconds to wait for one of `FEW` connections, before another one is made
IDLE = 5  # seconds for which a frozen process can lock rows


class SparingPool(QueuePool):
    """A pool that opens more than `FEW` connections only if a thread has waited `MOMENT` for one.

    A connection that a thread still uses at `dispose` is closed when the thread gives it back.
    """

    over = False

    def dispose(self) -> None:
        self.over = True
        super().dispose()

    def recreate(self) -> SparingPool:
        made = cast("SparingPool", super().recreate())
        made.over = self.over
        return made

    def _do_return_conn(self, record: ConnectionPoolEntry) -> None:
        super()._do_return_conn(record)
        if self.over:
            super().dispose()

    def _do_get(self) -> ConnectionPoolEntry:
        with suppress(Empty):
            return self._pool.get(self.checkedin() + self.checkedout() >= FEW, MOMENT)
        return super()._do_get()


def end_frozen_transactions(connection: Any, _record: object) -> None:
    connection.execute(f"set idle_in_transaction_session_timeout = '{IDLE}s'")
    connection.commit()


def server_engine(database: str) -> sqlalchemy.Engine:
    url = sqlalchemy.make_url(database).set(drivername=DRIVER)
    sizes = {"pool_size": SPARE, "max_overflow": MOST - SPARE}
    made = sqlalchemy.create_engine(url, poolclass=SparingPool, pool_pre_ping=True, **sizes)
    event.listen(made, "connect", end_frozen_transactions)
    return made
