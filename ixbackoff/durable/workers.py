"""Workers: processes that perform runs, and how each shows that it is alive.

A worker holds a lock that ends with its process, or with its connection. Who finds the lock of
another one free, and free again a round later, gives its runs to those who live. By then it begins
nothing more, even if it lives, since it begins a command only while it is sure of its lock.
"""

from __future__ import annotations

import os
import random
import socket
import zlib
from collections.abc import Callable
from io import TextIOWrapper
from logging import getLogger
from pathlib import Path
from threading import Event, Thread
from typing import Protocol
from uuid import uuid4

import sqlalchemy

from .._words.commands import Misuse
from .clocks import DatabaseClock, elapsed
from .store import Store, run_of

LOGGER = getLogger("ixbackoff")

LOCKS = 0x1BAC  # the class of the advisory locks of workers
BEAT = 0.4  # seconds between two looks at one's own lock
SURE = 1.2  # seconds in which it is taken to be there still; less than any round
ROUND = 2.0  # seconds between two looks at the other workers
SPREAD = 0.2  # the part by which a round may be shorter or longer, so that workers part
KEEPALIVE = ("tcp_keepalives_idle=5", "tcp_keepalives_interval=2", "tcp_keepalives_count=3")
DRIVER = "postgresql+psycopg"

HELD: set[TextIOWrapper] = set()
"""The locks of files that this process holds."""


class Worker(Protocol):
    """One process that performs runs.

    Attributes:
        id: its name; the runs that it performs are kept under it.
    """

    id: str

    def now(self) -> float:
        """Return the seconds since the epoch, on the clock that all workers share."""
        raise NotImplementedError

    def has_lock(self) -> bool:
        """Return whether nobody can have its runs yet, as far as it knows."""
        raise NotImplementedError

    def watch(self, lost: Callable[[], None], performs: Callable[[str], bool]) -> None:
        """Take over the runs of dead workers from now on; call `lost` once the lock is lost.

        Let runs go on that were resumed and that it had, once it does not perform them any more.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Let go of the lock."""
        raise NotImplementedError


class OnFile:
    """The only worker of a file of SQLite.

    Args:
        path: the file.
        now: the clock of this machine.

    Raises:
        Misuse: another process is its worker.
    """

    id = "local"

    def __init__(self, path: str, now: Callable[[], float]) -> None:
        from fcntl import LOCK_EX, LOCK_NB, flock

        self.now = now
        self._lock: TextIOWrapper = Path(f"{path}.worker").open("w")  # noqa: SIM115
        HELD.add(self._lock)
        try:
            flock(self._lock, LOCK_EX | LOCK_NB)
        except OSError:
            self.close()
            raise Misuse(
                f"Another worker performs the runs in {path}: let it be the only one, begin runs "
                "with Engine(..., worker=False), or use PostgreSQL for several workers."
            ) from None

    def has_lock(self) -> bool:
        return True

    def watch(self, lost: Callable[[], None], performs: Callable[[str], bool]) -> None:
        """Do nothing: there is no other worker."""

    def close(self) -> None:
        self._lock.close()
        HELD.discard(self._lock)


class OnServer:
    """One of the workers of a PostgreSQL server, with an advisory lock of a session of its own.

    Args:
        store: where runs are kept.
    """

    def __init__(self, store: Store) -> None:
        self.id = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"
        self._store = store
        self._stopped = Event()
        self._free: set[str] = set()
        url = sqlalchemy.make_url(store.database).set(drivername=DRIVER)
        self._engine = sqlalchemy.create_engine(url, pool_size=2, pool_pre_ping=True)
        self._clock = DatabaseClock(self._time)
        self._session = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        for setting in KEEPALIVE:  # so that a server notices a machine that is gone
            self._session.execute(sqlalchemy.text(f"set {setting}"))
        self._sure = elapsed()
        lock = sqlalchemy.text("select pg_advisory_lock(:kind, :key)")
        self._session.execute(lock, {"kind": LOCKS, "key": key_of(self.id)})

    def _time(self) -> float:
        with self._engine.connect() as connection:
            asked = sqlalchemy.text("select extract(epoch from clock_timestamp())")
            return float(connection.execute(asked).scalar_one())

    def now(self) -> float:
        return self._clock()

    def has_lock(self) -> bool:
        return elapsed() - self._sure < SURE

    def watch(self, lost: Callable[[], None], performs: Callable[[str], bool]) -> None:
        Thread(target=self._look_at_itself, args=(lost,), daemon=True).start()
        Thread(target=self._look_at_others, daemon=True).start()
        Thread(target=self._look_at_resumed, args=(performs,), daemon=True).start()

    def _look_at_itself(self, lost: Callable[[], None]) -> None:
        while not self._stopped.wait(BEAT):
            before = elapsed()
            try:
                self._session.execute(sqlalchemy.text("select 1"))
            except Exception:
                if not self._stopped.is_set():
                    lost()
                return
            self._sure = before

    def _look_at_others(self) -> None:
        while not self._stopped.wait(ROUND * random.uniform(1 - SPREAD, 1 + SPREAD)):  # noqa: S311
            try:
                self._look()
            except Exception as error:
                LOGGER.warning("worker %s cannot look at the others: %r", self.id, error)

    def _look_at_resumed(self, performs: Callable[[str], bool]) -> None:
        while not self._stopped.wait(BEAT):
            try:
                self._let_go_on(performs)
            except Exception as error:
                LOGGER.warning("worker %s cannot look at resumed runs: %r", self.id, error)

    def _let_go_on(self, performs: Callable[[str], bool]) -> None:
        """Let runs go on that were resumed: those that it had, and those of dead workers.

        Nobody else lets a run go on that a living worker had, since its lock is needed for that.
        """
        for worker, runs in self._store.resumed().items():
            if worker == self.id:
                for one in runs:
                    if not performs(run_of(one.workflow_id)):
                        self._store.go_on(one)
            else:
                with self._engine.begin() as connection:
                    if locked(connection, worker):
                        for one in self._store.resumed().get(worker, ()):
                            self._store.go_on(one)

    def _look(self) -> None:
        others = self._store.working() - {self.id}
        self._free = {worker for worker in others if self._is_free(worker)}

    def _is_free(self, worker: str) -> bool:
        """Return whether the lock of a worker is free; if it was a round ago, take its runs."""
        if worker in self._free:
            return self._take_over(worker)
        with self._engine.begin() as connection:
            return locked(connection, worker)

    def _take_over(self, worker: str) -> bool:
        """Give the runs of a worker to those who live, unless it lives itself; return whether.

        Its lock is held meanwhile, so no two do that.
        """
        with self._engine.begin() as connection:
            free = locked(connection, worker)
            if free:
                number = self._store.enqueue_again(worker)
                LOGGER.warning("worker %s is dead, %s of its runs go on", worker, number)
            return free

    def close(self) -> None:
        if self._stopped.is_set():
            return
        self._stopped.set()
        self._session.invalidate()
        self._session.close()
        self._engine.dispose()


def locked(connection: sqlalchemy.Connection, worker: str) -> bool:
    """Get the lock of a worker until the transaction ends; return false if it has it."""
    lock = sqlalchemy.text("select pg_try_advisory_xact_lock(:kind, :key)")
    return bool(connection.execute(lock, {"kind": LOCKS, "key": key_of(worker)}).scalar())


def let_go() -> None:
    """Close the locks in a forked process, so that they end with the one that took them."""
    for lock in HELD:
        lock.close()
    HELD.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=let_go)


def key_of(worker: str) -> int:
    """Return the key of the lock of a worker.

    >>> key_of("here:7:1a2b3c4d")
    -727016644
    """
    return zlib.crc32(worker.encode()) - 2**31
