"""Durable runs in a database, as any process may begin, read and change them.

A run is one workflow of DBOS for each stretch between two parked waits. The first has the id of the
run, the others add a number to it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from logging import getLogger
from typing import Any, NamedTuple

import sqlalchemy
from dbos import (
    DBOS,
    DBOSClient,
    DBOSPortableJSONSerializer,
    EnqueueOptions,
    PortableWorkflowError,
    WorkflowSerializationFormat,
    WorkflowStatus,
)
from dbos._context import current_owner_xid
from dbos._migration import get_migration_versions, get_sqlite_migration_versions
from sqlalchemy import event
from sqlalchemy.exc import SQLAlchemyError

from .._words.commands import Misuse
from .codec import JSON, decode
from .journal import Entry
from .milliseconds import taught
from .troubles import in_words

LOGGER = getLogger("ixbackoff")

APPLICATION = "ixbackoff"
WORKFLOW = "ixbackoff.run"
SCHEMA = "dbos"
VERSION = "ixbackoff-1"
"""The version of what is stored; not that of programs."""

STRETCH = "#"
"""What stands between the id of a run and the number of a stretch, and so in no id."""

LONGEST_ID = 200  # characters
IDLE = 5.0  # seconds for which a process that is frozen keeps others from the rows it has locked
ACTIVE = ["PENDING", "ENQUEUED", "DELAYED"]
CANCELLED = "cancelled"
"""The attribute of a run that was cancelled; a paused one does not have it."""
RESUMES = "resumes"
"""The attribute of a run on a server that is paused, and goes on once its worker has let go."""

SERIALIZER = DBOSPortableJSONSerializer


class Start(NamedTuple):
    """The beginning of a run.

    Attributes:
        run: its id.
        recipe: the name of its recipe.
        given: its arguments, seed and fingerprint, as JSON.
    """

    run: str
    recipe: str
    given: dict[str, JSON]


class RunFailed(Exception):
    """The last failure of a run, as DBOS keeps it: as data.

    Args:
        held: the failure as JSON.
        diverged: true if the code is not that of the run: with that, it can be resumed.
    """

    def __init__(self, held: JSON, diverged: bool = False) -> None:
        super().__init__(f"{held['k'].rpartition(':')[2]}: {decode(held['text'])}")
        self.data = {"failure": json.dumps(held), "diverged": diverged}


class Store:
    """The runs in a database.

    Args:
        database: its URL.

    Raises:
        Misuse: the URL is not one of SQLite or PostgreSQL, or a newer DBOS made the tables.
        ConnectionError: the database cannot be reached.
    """

    def __init__(self, database: str) -> None:
        self.database = checked_database(database)
        self.sqlite = database.startswith("sqlite")
        self._client = DBOSClient(
            system_database_url=database,
            serializer=SERIALIZER(),
            application_name=APPLICATION,
            sys_db_idle_transaction_timeout_sec=IDLE,
            lazy=True,
        )
        event.listen(self.engine(), "connect", taught)
        try:
            self._make_tables()
        except SQLAlchemyError as error:
            self.close()
            shown = sqlalchemy.make_url(database).render_as_string(hide_password=True)
            raise ConnectionError(
                f"The database {shown} cannot be opened: {in_words(error)}"
            ) from None
        except BaseException:
            self.close()
            raise

    def _make_tables(self) -> None:
        """Make the tables, or those of an older DBOS new.

        Raises:
            Misuse: a newer DBOS made them.
        """
        with suppress(SQLAlchemyError):  # there may be no such database yet
            theirs, mine = self._versions()
            if 0 < theirs < mine:
                LOGGER.warning("an older DBOS made the tables: %s becomes %s", theirs, mine)
        DBOS.migrate(self.database)
        theirs, mine = self._versions()
        if theirs > mine:
            raise Misuse(
                f"A newer DBOS made the tables of this database ({theirs}, this one knows {mine}): "
                "upgrade the package dbos, or give another database."
            )

    def _versions(self) -> tuple[int, int]:
        """Return the version of the tables, 0 if there are none, and that which this DBOS makes."""
        if self.sqlite:
            return get_sqlite_migration_versions(self.engine())
        return get_migration_versions(self.engine(), SCHEMA, use_listen_notify=True)

    def close(self) -> None:
        self._client._sys_db._retry_connection_errors = False  # or threads go on, even at exit
        self._client.destroy()

    def register(self, recipe: str, concurrency: int | None, poll: float) -> None:
        """Make the queue of a recipe, from which a worker takes so many runs at a time."""
        self._client.register_queue(
            queue_of(recipe),
            worker_concurrency=concurrency,
            polling_interval_sec=poll,
            on_conflict="always_update",
        )

    def enqueue(self, start: Start) -> None:
        """Have a worker begin a run; once for each id."""
        given = (start.recipe, start.given, start.run, 0)
        self._client.enqueue(options_of(start, 0), *given)

    def park(self, start: Start, stretch: int, seconds: float, owner: str) -> None:
        """Have a worker go on with a run after so many seconds, in the stretch after this one.

        Args:
            start: what the run began with.
            stretch: the number of this stretch.
            seconds: the rest of the wait.
            owner: what shows that this process has it, see `owner_of`.

        Raises:
            DBOSWorkflowConflictIDError: it does not have it, since the run was cancelled or paused,
                or another process has it.
        """
        given = (start.recipe, start.given, start.run, stretch + 1)
        with self.engine().begin() as connection:
            database = self._client._sys_db
            database._check_owner_txn(connection, stretch_of(start.run, stretch), owner)
            options = options_of(start, stretch + 1, seconds)
            self._client.enqueue_in_transaction(connection, options, *given)

    def enqueue_all(self, starts: Iterable[Start]) -> None:
        """Have workers begin runs, in one transaction."""
        with self.engine().begin() as connection:
            for start in starts:
                given = (start.recipe, start.given, start.run, 0)
                self._client.enqueue_in_transaction(connection, options_of(start, 0), *given)

    def engine(self) -> sqlalchemy.Engine:
        """The connections to the database."""
        return self._client._sys_db.engine

    def stretches(self, run: str) -> list[WorkflowStatus]:
        """Return the stretches of a run, from the first to the last."""
        found = self._client.list_workflows(name=WORKFLOW, workflow_id_prefix=run, load_input=False)
        mine = [one for one in found if run_of(one.workflow_id) == run]
        return sorted(mine, key=lambda one: int(one.workflow_id.partition(STRETCH)[2] or 0))

    def recent(self, limit: int) -> list[str]:
        """Return the ids of the runs that were begun last, the last one first."""
        found = self._client.list_workflows(
            name=WORKFLOW, sort_desc=True, load_input=False, load_output=False
        )
        runs = dict.fromkeys(run_of(one.workflow_id) for one in found)
        return list(runs)[:limit]

    def forget(self, run: str) -> bool:
        """Delete a run and its journal; return false if it goes on, and do nothing."""
        stretches = self.stretches(run)
        if not stretches or any(one.status in ACTIVE for one in stretches):
            return False
        self._client.delete_workflows([one.workflow_id for one in stretches])
        return True

    def last(self, run: str) -> WorkflowStatus | None:
        """Return the last stretch of a run, or `None` if there is no such run."""
        stretches = self.stretches(run)
        return stretches[-1] if stretches else None

    def may_go_on(self, run: str) -> bool:
        """Return whether a run goes on, or does once it is resumed."""
        last = self.last(run)
        if last is None:
            return False
        paused = last.status == "CANCELLED" and not is_cancelled(last)
        return paused or last.status in ACTIVE or has_diverged(last)

    def rests(self, run: str) -> bool:
        """Return whether nobody performs a run now: it is parked, or paused."""
        last = self.last(run)
        return last is not None and (
            last.status == "DELAYED"
            or (last.status == "CANCELLED" and not is_cancelled(last) and not is_resumed(last))
        )

    def steps(self, stretch: str) -> list[tuple[int, Entry | None]]:
        """Return the steps of a stretch: their numbers, and the entries that are in them."""
        found = self._client.list_workflow_steps(stretch)
        return [(step["function_id"], entry_of(step["output"])) for step in found]

    def given(self, run: str) -> dict[str, JSON]:
        """Return what a run began with: its arguments, seed and fingerprint."""
        found = self._client.list_workflows(workflow_ids=[run])
        given: dict[str, JSON] = found[0].input["args"][1] if found and found[0].input else {}
        return given

    def resume(self, run: str) -> bool:
        """Have a worker go on with a run that was paused, or whose program diverged.

        On a server the worker that had the run lets it go on, once it is in no command of it any
        more; if that worker is dead, another one does. On SQLite there is one worker, which begins
        nothing of the run before that.

        Return false if it is in another state: it goes on already, or it has ended.
        """
        last = self.last(run)
        if last is None or is_cancelled(last):
            return False
        if last.status == "CANCELLED":
            self._mark(last, RESUMES, True)
            if self.sqlite:
                self.go_on(last)
            return True
        if last.status == "MAX_RECOVERY_ATTEMPTS_EXCEEDED":
            queue = queue_of((last.attributes or {})["recipe"])
            self._client.resume_workflow(last.workflow_id, queue_name=queue)
            return True
        if not has_diverged(last) and not has_no_end(last):
            return False
        self._rewind(last)
        return True

    def _rewind(self, ended: WorkflowStatus) -> None:
        """Have a worker go on with a stretch that has ended, after its last step."""
        queue = queue_of((ended.attributes or {})["recipe"])
        steps = self.steps(ended.workflow_id)
        following = max((number for number, _ in steps), default=0) + 1
        self._client.rewind_workflow(ended.workflow_id, start_step=following, queue_name=queue)

    def resumed(self) -> dict[str, list[WorkflowStatus]]:
        """Return the stretches that wait until they are let go, by the workers that had them."""
        found: dict[str, list[WorkflowStatus]] = {}
        for one in self._client.list_workflows(
            name=WORKFLOW,
            status="CANCELLED",
            attributes={RESUMES: True},
            load_input=False,
            load_output=False,
        ):
            if not is_cancelled(one):
                found.setdefault(one.executor_id or "", []).append(one)
        return found

    def go_on(self, one: WorkflowStatus) -> None:
        """Have a worker go on with a stretch that was paused, unless it was paused again."""
        queue = queue_of((one.attributes or {})["recipe"])
        self._client.resume_workflow(one.workflow_id, queue_name=queue)
        (now,) = self._client.list_workflows(workflow_ids=[one.workflow_id], load_input=False)
        if is_cancelled(now) or not is_resumed(now):
            self._client.cancel_workflows([one.workflow_id])
        else:
            self._mark(one, RESUMES, False)

    def owned(self, run: str, stretch: int, owner: str) -> bool:
        """Return whether a task has a stretch of a run, see `owner_of`."""
        return self._client._sys_db.get_workflow_owner(stretch_of(run, stretch)) == owner

    def working(self) -> set[str]:
        """Return the workers that perform runs, dead ones included."""
        found = self._client.list_workflows(
            name=WORKFLOW, status="PENDING", load_input=False, load_output=False
        )
        return {one.executor_id for one in found if one.executor_id is not None}

    def enqueue_again(self, worker: str) -> int:
        """Have other workers go on with the runs of one that is dead; return their number."""
        rows = self._rows()
        return self._enqueue_pending(rows.c.name == WORKFLOW, rows.c.executor_id == worker)

    def give_back(self, stretch: str, worker: str, owner: str) -> None:
        """Have a worker go on with a stretch whose end the database failed to keep for this one.

        Nothing is done if it was taken again by now, be it by this one, or if it was cancelled.

        Args:
            stretch: its id.
            worker: the worker that had it.
            owner: what shows that this worker has it still, see `owner_of`.
        """
        if self.enqueue_one(stretch, owner):
            return
        for one in self._client.list_workflows(workflow_ids=[stretch], load_input=False):
            if one.executor_id == worker and has_no_end(one):
                self._rewind(one)

    def enqueue_one(self, stretch: str, owner: str) -> bool:
        """Put a stretch back in its queue; return false if it is not had by that owner any more."""
        rows = self._rows()
        mine = rows.c.workflow_uuid == stretch, rows.c.owner_xid == owner
        return self._enqueue_pending(*mine) > 0

    def performed_by(self, worker: str) -> set[tuple[str, str]]:
        """Return the stretches that a worker performs, each with its owner, see `owner_of`."""
        rows = self._rows()
        asked = sqlalchemy.select(rows.c.workflow_uuid, rows.c.owner_xid).where(
            rows.c.name == WORKFLOW, rows.c.status == "PENDING", rows.c.executor_id == worker
        )
        with self.engine().begin() as connection:
            return {(stretch, owner) for stretch, owner in connection.execute(asked) if owner}

    def _rows(self) -> sqlalchemy.Table:
        """The table of the stretches."""
        return self._client._sys_db.tables.workflow_status

    def _enqueue_pending(self, *which: sqlalchemy.ColumnElement[bool]) -> int:
        """Put stretches that are performed back in their queues; return their number.

        In DBOS that is two steps, to look and to resume. Who comes late to the second one, or does
        it again since its answer was lost, would take them from a worker that has them by then.
        """
        rows = self._rows()
        change = sqlalchemy.update(rows).where(rows.c.status == "PENDING", *which)
        values = {"status": "ENQUEUED", "owner_xid": None, "started_at_epoch_ms": None}
        with self.engine().begin() as connection:
            return connection.execute(change.values(values)).rowcount

    def cancel(self, run: str) -> None:
        """Cancel a run: its `finally` blocks run, and it does not go on."""
        active = True
        while active:
            found = self.stretches(run)
            for one in found:
                self._mark(one, CANCELLED, True)
            active = self._cancel_active(found)

    def pause(self, run: str) -> None:
        """Pause a run: nothing more of it is performed until it is resumed."""
        active = True
        while active:
            found = self.stretches(run)
            for one in found:
                if is_resumed(one):
                    self._mark(one, RESUMES, False)
            active = self._cancel_active(found)

    def _mark(self, one: WorkflowStatus, attribute: str, given: bool) -> None:
        self._client.update_workflow_attributes(one.workflow_id, {attribute: given}, merge=True)

    def _cancel_active(self, stretches: list[WorkflowStatus]) -> bool:
        """Cancel those stretches that go on; return true if one did, so that one may follow it."""
        active = [one.workflow_id for one in stretches if one.status in ACTIVE]
        if active:
            self._client.cancel_workflows(active)
        return bool(active)


def owner_of(run: str, stretch: int) -> str:
    """Return what shows that this process has a stretch of a run, for the task that performs it."""
    return current_owner_xid(stretch_of(run, stretch)) or ""


def options_of(start: Start, stretch: int, seconds: float | None = None) -> EnqueueOptions:
    """Return how DBOS enqueues a stretch of a run."""
    options: EnqueueOptions = {
        "workflow_name": WORKFLOW,
        "queue_name": queue_of(start.recipe),
        "workflow_id": stretch_of(start.run, stretch),
        "app_version": VERSION,
        "serialization_type": WorkflowSerializationFormat.PORTABLE,
        "attributes": {"recipe": start.recipe, "run": start.run},
    }
    if seconds is not None:
        options["delay_seconds"] = seconds
    return options


def entry_of(output: Any) -> Entry | None:
    """Return the entry in the output of a step, if there is one."""
    entry: Entry | None = output if output.__class__ is dict and "at" in output else None
    return entry


def data_of(status: WorkflowStatus) -> dict[str, Any]:
    """Return the data of a run that failed, see `RunFailed`."""
    error = status.error
    data: Any = error.data if isinstance(error, PortableWorkflowError) else None
    return data if data.__class__ is dict else {}


def has_diverged(status: WorkflowStatus) -> bool:
    """Return whether a run failed since the code is not that which it was begun with."""
    return status.status == "ERROR" and bool(data_of(status).get("diverged"))


def has_no_end(status: WorkflowStatus) -> bool:
    """Return whether a run only seems to have failed: the database failed to keep how it ended."""
    return status.status == "ERROR" and "failure" not in data_of(status)


def failure_of(status: WorkflowStatus) -> BaseException:
    """Return the last failure of a run, as the program raised it."""
    failure: BaseException = decode(json.loads(data_of(status)["failure"]))
    return failure


def is_cancelled(status: WorkflowStatus) -> bool:
    """Return true if a run was cancelled, and not only paused."""
    return CANCELLED in (status.attributes or {})


def is_resumed(status: WorkflowStatus) -> bool:
    """Return true if a paused run goes on once its worker has let go of it."""
    return bool((status.attributes or {}).get(RESUMES))


def file_of(database: str) -> str:
    """Return the path of the file that the URL of a SQLite database names.

    >>> file_of("sqlite:////tmp/100%25/runs.sqlite")
    '/tmp/100%/runs.sqlite'
    """
    return sqlalchemy.make_url(database).database or ""


def queue_of(recipe: str) -> str:
    """Return the queue of a recipe: each has its own, so no worker takes what it cannot run."""
    return f"ixbackoff:{recipe}"


def run_of(stretch: str) -> str:
    """Return the id of the run that a stretch is of."""
    return stretch.partition(STRETCH)[0]


def stretch_of(run: str, stretch: int) -> str:
    return f"{run}{STRETCH}{stretch}" if stretch else run


def checked_id(run: str) -> str:
    """Return `run`, if it can be the id of a run.

    Raises:
        Misuse: it cannot.
    """
    given: object = run
    if (
        not isinstance(given, str)
        or not given.strip()
        or not given.isprintable()
        or STRETCH in given
        or len(given) > LONGEST_ID
    ):
        raise Misuse(
            f"The id {run!r}: give a string of 1 to {LONGEST_ID} printable characters without "
            f"{STRETCH}."
        )
    return run


def checked_database(database: str) -> str:
    """Return the URL of a database in which runs can be.

    Raises:
        Misuse: it is not one.
    """
    given: object = database
    kinds = ("sqlite:///", "postgresql://", "postgresql+psycopg://")
    if not isinstance(given, str) or not given.startswith(kinds) or given == "sqlite:///":
        raise Misuse(
            "database=...: give the URL of a file, sqlite:///runs.sqlite, or of a server, "
            "postgresql://user@host/name."
        )
    return database
