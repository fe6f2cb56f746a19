"""Locks of workers: a worker holds a lock, which shows the other workers that it is alive.

The lock ends with the process of the worker, or with its connection. On a server, each worker
checks the locks of the others in rounds, about every 2 s. If the lock of a worker is free in two
successive rounds, the runs of that worker go back into their queues. Even if that worker is alive,
it begins no more commands by then, because a worker begins a command only if a check of its own
lock succeeded less than a round ago.
"""

from __future__ import annotations

import errno
import os
import random
import socket
import zlib
from collections.abc import Callable, Iterable
from functools import partial
from io import TextIOWrapper
from logging import getLogger
from threading import Event, Lock, Thread
from typing import TypeAlias
from uuid import uuid4

import sqlalchemy

from .._running.boot_clock import since_boot
from .._words.commands import Misuse
from .clocks import DatabaseClock, clock_in
from .store import Store, run_of

LOGGER = getLogger("ixbackoff")

LOCKS = 0x1BAC  # the class of the advisory locks of workers
WORKFLOWS = 0x1BAD  # the class of the locks of workflows; workers with the same workflow share one
BEAT = 0.4  # seconds between two checks of a worker's own lock
SURE = 1.2  # seconds for which a check holds; less than any round
ROUND = 2.0  # seconds between two checks of the other workers
SPREAD = 0.2  # the share by which a round may be shorter or longer, so that workers drift apart
KEEPALIVE = ("tcp_keepalives_idle=5", "tcp_keepalives_interval=2", "tcp_keepalives_count=3")

HELD: set[TextIOWrapper] = set()
"""The lock files that this process holds."""


class FileTaken(Misuse):
    """A file of SQLite is used by the worker of another process."""


class FileLock:
    """The lock of the only worker of a SQLite file, with the methods of `ServerLock`.

    Raises:
        FileTaken: another process holds the lock.
        Misuse: the lock file is a link.
    """

    id = "local"

    def __init__(self, path: str) -> None:
        from fcntl import LOCK_EX, LOCK_NB, flock

        place = f"{os.path.realpath(path)}.worker"
        try:
            descriptor = os.open(place, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            raise Misuse(f"{place} is a link, which may lead to any file: remove it.") from None
        self._lock = os.fdopen(descriptor, "r+")
        HELD.add(self._lock)
        try:
            flock(self._lock, LOCK_EX | LOCK_NB)
        except OSError:
            self.close()
            raise FileTaken(
                f"Another worker performs the runs in {path}: start runs here with "
                "Engine(..., worker=False), or use PostgreSQL for several workers."
            ) from None
        self.now = clock_in(self._lock)

    def has_lock(self) -> bool:
        return True

    def is_unknown(self, workflow: str) -> bool:  # noqa: ARG002
        """Return whether no worker has `workflow`; do not call it for a workflow of this worker."""
        return True

    def watch(self, lost: Callable[[], None], performs: Callable[[str], bool]) -> None:
        """Do nothing: there is no other worker."""

    def close(self) -> None:
        self._lock.close()
        HELD.discard(self._lock)


class ServerLock:
    """An advisory lock of a PostgreSQL server, in a session of its own.

    Attributes:
        id: the id of the worker; the database stores it with each run that the worker performs.
    """

    def __init__(self, store: Store, workflows: Iterable[str] = ()) -> None:
        self.id = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"
        self._store = store
        self._stopped = Event()
        self._working = Lock()
        self._free: set[str] = set()
        self._engine = store.engine()
        self._clock = DatabaseClock(self._time)
        self._session = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        for setting in KEEPALIVE:  # so that the server notices a machine that is gone
            self._session.execute(sqlalchemy.text(f"set {setting}"))
        self._sure = since_boot().seconds
        lock = sqlalchemy.text("select pg_advisory_lock(:kind, :key)")
        self._session.execute(lock, {"kind": LOCKS, "key": key_of(self.id)})
        shared = sqlalchemy.text("select pg_advisory_lock_shared(:kind, :key)")
        for workflow in workflows:
            self._session.execute(shared, {"kind": WORKFLOWS, "key": key_of(workflow)})

    def _time(self) -> float:
        with self._engine.connect() as connection:
            asked = sqlalchemy.text("select extract(epoch from clock_timestamp())")
            return float(connection.execute(asked).scalar_one())

    def now(self) -> float:
        return self._clock()

    def has_lock(self) -> bool:
        """Return whether the worker is sure that no other worker has taken over its runs."""
        return since_boot().seconds - self._sure < SURE

    def is_unknown(self, workflow: str) -> bool:
        with self._engine.begin() as connection:
            return locked(connection, workflow, WORKFLOWS)

    def watch(self, lost: Callable[[], None], performs: Callable[[str], bool]) -> None:
        """Watch this lock and the locks of other workers from now on.

        Take over the runs of dead workers. If a run of this worker was paused and resumed, continue
        it as soon as no task performs it any more.

        Args:
            lost: called once this lock is lost.
            performs: returns whether a task performs a run.
        """

        def a_round() -> float:
            return ROUND * random.uniform(1 - SPREAD, 1 + SPREAD)  # noqa: S311

        for work in (
            partial(self._watch_itself, lost),
            partial(self._repeat, self._check_others, a_round),
            partial(self._repeat, partial(self._continue_resumed, performs), lambda: BEAT),
        ):
            Thread(target=work, daemon=True).start()

    def _watch_itself(self, lost: Callable[[], None]) -> None:
        while not self._stopped.wait(BEAT):
            before = since_boot().seconds
            try:
                self._session.execute(sqlalchemy.text("select 1"))
            except Exception:
                if not self._stopped.is_set():
                    lost()
                return
            self._sure = before

    def _repeat(self, work: Callable[[], None], pause: Callable[[], float]) -> None:
        while not self._stopped.wait(pause()):
            try:
                with self._working:  # concurrent checks could wait for each other's connections
                    work()
            except Exception as error:
                LOGGER.warning("worker %s cannot check for runs to continue: %r", self.id, error)

    def _continue_resumed(self, performs: Callable[[str], bool]) -> None:
        """Continue the resumed runs of this worker and of dead workers.

        A run is continued under the lock of the worker that had it. So while that worker is alive,
        no other worker continues the run.
        """
        for worker, runs in self._store.resumed().items():
            if worker == self.id:
                for one in runs:
                    if not performs(run_of(one.workflow_id)):
                        self._store.enqueue_resumed(one)
            else:
                with self._engine.begin() as connection:
                    if locked(connection, worker):
                        for one in self._store.resumed().get(worker, ()):
                            self._store.enqueue_resumed(one)

    def _check_others(self) -> None:
        others = self._store.working() - {self.id}
        self._free = {worker for worker in others if self._is_free(worker)}

    def _is_free(self, worker: str) -> bool:
        """Return whether a worker's lock is free; if it was so a round ago, too, enqueue its runs.

        The transaction holds the dead worker's lock, so no two workers enqueue its runs.
        """
        with self._engine.begin() as connection:
            free = locked(connection, worker)
            if free and worker in self._free:
                number = self._store.enqueue_again(worker)
                LOGGER.warning("worker %s is dead, %s of its runs continue", worker, number)
            return free

    def close(self) -> None:
        if self._stopped.is_set():
            return
        self._stopped.set()
        self._session.invalidate()
        self._session.close()


WorkerLock: TypeAlias = FileLock | ServerLock


def locked(connection: sqlalchemy.Connection, name: str, kind: int = LOCKS) -> bool:
    """Try to lock a worker or workflow until the transaction ends; return whether it was free."""
    lock = sqlalchemy.text("select pg_try_advisory_xact_lock(:kind, :key)")
    return bool(connection.execute(lock, {"kind": kind, "key": key_of(name)}).scalar())


def release_in_fork() -> None:
    """Close the parent's lock files in a forked process, so that the locks end with the parent."""
    for lock in HELD:
        lock.close()
    HELD.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=release_in_fork)


def key_of(name: str) -> int:
    """Return the key of the lock of a worker or workflow."""
    return zlib.crc32(name.encode()) - 2**31
