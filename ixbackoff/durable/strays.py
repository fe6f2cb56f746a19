"""Strays: runs that are this worker's, and that no task of it performs.

A run is taken from its queue in one transaction, and handed to a task after that. If the answer of
that transaction is lost, nobody would ever perform the run: its worker lives, so no other one takes
it over.
"""

from __future__ import annotations

from collections.abc import Callable
from logging import getLogger
from threading import Event, Thread

from sqlalchemy.exc import SQLAlchemyError

from .store import Store, run_of
from .troubles import in_words

LOGGER = getLogger("ixbackoff")

ROUND = 5.0  # seconds between two looks


class Strays:
    """Looks for strays in a thread, and puts them back in their queues.

    A run is one if no task has it at two looks. A task that comes later all the same performs
    nothing, since it does not have the run any more.

    Args:
        store: where runs are kept.
        worker: the name of this worker.
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
        """Look no more."""
        self._stopped.set()

    def _work(self) -> None:
        while not self._stopped.wait(ROUND):
            try:
                self._look()
            except SQLAlchemyError as error:
                if not self._stopped.is_set():
                    LOGGER.warning("worker %s cannot look: %s", self._worker, in_words(error))

    def _look(self) -> None:
        mine = self._store.performed_by(self._worker)
        strays = {(stretch, owner) for stretch, owner in mine if not self._taken(run_of(stretch))}
        for stretch, owner in strays & self._seen:
            if self._store.enqueue_one(stretch, owner):
                LOGGER.warning("run %s was taken and not begun: it goes on", run_of(stretch))
        self._seen = strays
