"""Runs that belong to this worker in the database, but that no task performs.

DBOS takes a run from its queue in one transaction, and then hands it to a task. If the answer to
that transaction is lost, no task gets the run; and because this worker is alive, no other worker
takes the run over.
"""

from __future__ import annotations

from collections.abc import Callable
from logging import getLogger
from threading import Event, Thread

from sqlalchemy.exc import SQLAlchemyError

from .outages import in_words
from .store import Store, run_of

LOGGER = getLogger("ixbackoff")

ROUND = 5.0  # seconds between two searches


class UnperformedRuns:
    """A thread that searches for runs that no task has, and puts them back in their queues.

    It puts a run back if no task has it in two consecutive searches. A task that begins after that
    performs no command, because it does not own the run any more.

    Args:
        taken: returns whether a task has a run.
    """

    def __init__(self, store: Store, worker: str, taken: Callable[[str], bool]) -> None:
        self._store = store
        self._worker = worker
        self._taken = taken
        self._seen: set[tuple[str, str]] = set()
        self._stopped = Event()
        Thread(target=self._work, daemon=True).start()

    def close(self) -> None:
        self._stopped.set()

    def _work(self) -> None:
        while not self._stopped.wait(ROUND):
            try:
                self._search()
            except SQLAlchemyError as error:
                if not self._stopped.is_set():
                    LOGGER.warning(
                        "worker %s cannot query its runs: %s", self._worker, in_words(error)
                    )

    def _search(self) -> None:
        mine = self._store.performed_by(self._worker)
        left = {(segment, owner) for segment, owner in mine if not self._taken(run_of(segment))}
        for segment, owner in left & self._seen:
            if self._store.enqueue_one(segment, owner):
                LOGGER.warning(
                    "run %s was taken but not begun: it is back in its queue", run_of(segment)
                )
        self._seen = left
