"""Runs that no task performs although they could continue.

Some belong to this worker: DBOS takes a run from its queue in one transaction, and then hands it to
a task. If the answer to that transaction is lost, no task gets the run; and because this worker is
alive, no other worker takes the run over. Others are stuck: the code of a worker could not continue
them, and this worker has not tried to. Others wait for a workflow that no worker has.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import timedelta
from logging import getLogger
from threading import Event, Thread

from .outages import in_words
from .store import Store, run_of
from .worker_liveness import WorkerLock

LOGGER = getLogger("ixbackoff")

ROUND = 5.0  # seconds between two searches


@dataclass
class UnperformedRuns:
    """A thread that puts runs back in their queues if no task has them, and deletes old ended runs.

    A run of this worker is put back if no task has it in two consecutive searches. A task that
    begins after that performs no command, because it does not own the run any more. Each search
    puts stuck runs of `workflows` back, except those that this worker has tried to continue.
    """

    store: Store
    lock: WorkerLock
    workflows: Collection[str]
    taken: Callable[[str], bool]  # whether a task has a run
    stuck: Collection[str]  # the segments that the code of this process could not continue
    keep: timedelta | None  # the time after which runs that have ended are forgotten

    def __post_init__(self) -> None:
        self._unknown: set[str] = set()
        self._seen: set[tuple[str, str]] = set()
        self._stopped = Event()
        Thread(target=self._work, daemon=True).start()

    def close(self) -> None:
        self._stopped.set()

    def _work(self) -> None:
        over = False
        while not over:
            try:
                self._search()
            except Exception as error:
                if not self._stopped.is_set():
                    LOGGER.warning(
                        "worker %s cannot query its runs: %s", self.lock.id, in_words(error)
                    )
            over = self._stopped.wait(ROUND)

    def _search(self) -> None:
        if self.keep is not None:
            self.store.forget_ended(self.lock.now() - self.keep.total_seconds())
        for status in self.store.stuck():
            workflow = (status.attributes or {})["workflow"]
            if workflow in self.workflows and status.workflow_id not in self.stuck:
                self.store.rewind(status)
        for workflow, number in self.store.waiting(self.workflows).items():
            if workflow not in self._unknown and self.lock.is_unknown(workflow):
                self._unknown.add(workflow)
                LOGGER.warning(
                    "no worker has the workflow %s, for which %s runs wait: start an engine with "
                    "the workflow, or cancel the runs",
                    *(workflow, number),
                )
        mine = self.store.performed_by(self.lock.id)
        left = {(segment, owner) for segment, owner in mine if not self.taken(run_of(segment))}
        for segment, owner in left & self._seen:
            if self.store.enqueue_one(segment, owner):
                LOGGER.warning(
                    "run %s was taken but not begun: it is back in its queue", run_of(segment)
                )
        self._seen = left
