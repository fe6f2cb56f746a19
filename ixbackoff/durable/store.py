"""The database of durable runs: any process can start, read and change them.

Parked waits divide a run into segments; each segment is a DBOS workflow. The id of the first
segment is the id of the run; the ids of the other segments have a number at the end.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from logging import getLogger
from typing import Any, NamedTuple, TypeAlias

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
from dbos import error as dbos_errors
from sqlalchemy import event
from sqlalchemy.exc import SQLAlchemyError

from .._words.commands import Misuse
from .codec import JSON, TAG
from .dbos_internals import (
    check_owner,
    connections,
    current_owner,
    owner_in_database,
    stop_reconnecting,
    table_versions,
    tables,
    tables_of,
)
from .journal import Checkpoint, Entry
from .old_sqlite import add_unixepoch
from .outages import in_words
from .server_pool import server_engine
from .untrusted_database import check_owner_of, check_rows, check_schema

LOGGER = getLogger("ixbackoff")

APPLICATION = "ixbackoff"
DBOS_NAME = "ixbackoff.run"  # the name of the DBOS workflow that performs a segment
VERSION = "ixbackoff-1"
"""The version of the stored format, whatever the version of the programs."""

SEPARATOR = "#"
"""The character between the id of a run, which cannot contain it, and the number of a segment."""

BATCH = 500  # keys in one query
LONGEST_ID = 200  # characters
CONNECTIONS_TO_FILE = 3  # few, because SQLite makes a writer sleep while another connection writes
ACTIVE = ["PENDING", "ENQUEUED", "DELAYED"]
CANCELLED = "cancelled"
"""The attribute of a run that was cancelled; a paused run does not have it."""
RESUMES = "resumes"
"""The attribute of a paused run that was resumed, and waits until its worker has released it."""
WAITS = "waits"
"""The attribute of a segment that begins at a checkpoint: the number of the waits before it."""
QUEUE = "ixbackoff:"

SEALED = "sealed"
"""The tag of a payload that was sealed; no encoded value has this tag."""

Seal: TypeAlias = tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]
"""A function that seals a payload, and its inverse."""

SERIALIZER = DBOSPortableJSONSerializer


class NewRun(NamedTuple):
    """A new run; `given`: its arguments, its seed and the program's fingerprint, as JSON."""

    workflow: str
    given: dict[str, JSON]
    run: str
    checkpoint: Checkpoint | None = None


class RunFailed(Exception):
    """The last failure of a run, in the form that DBOS stores.

    Args:
        encoded: the failure as JSON, perhaps sealed.
        stuck: whether the program's own code has failed; then other code can continue the run.
    """

    def __init__(self, encoded: JSON, stuck: bool = False) -> None:
        super().__init__(kind_of(encoded))
        self.data = {"failure": json.dumps(encoded), "stuck": stuck}


class Store:
    """The runs in a database.

    Raises:
        Misuse: the URL is not one of SQLite or PostgreSQL; or a newer DBOS made the tables; or the
            database has rows that ixbackoff did not write, or is a file of another user.
        ConnectionError: the database cannot be reached.
    """

    def __init__(self, database: str, seal: Seal | None = None) -> None:
        self._seal = seal
        self.database = checked_database(database)
        self.sqlite = database.startswith("sqlite")
        if self.sqlite:
            check_owner_of(file_of(database))
        self._client = DBOSClient(
            system_database_url=database,
            system_database_engine=None if self.sqlite else server_engine(database),
            serializer=SERIALIZER(),
            application_name=APPLICATION,
            system_database_pool_size=CONNECTIONS_TO_FILE,
            lazy=True,
        )
        event.listen(self.engine(), "connect", add_unixepoch)
        try:
            if self.sqlite:
                check_schema(self.engine())
            self._make_tables()
            check_rows(self.engine(), tables_of(self._client))
        except BaseException as error:
            self.close()
            if not isinstance(error, SQLAlchemyError):
                raise
            shown = sqlalchemy.make_url(database).render_as_string(hide_password=True)
            said = in_words(error)
            raise ConnectionError(f"The database {shown} cannot be opened: {said}") from None

    def sealed(self, payload: JSON) -> JSON:
        """Return a payload as the database stores it."""
        if self._seal is None:
            return payload
        given = self._seal[0](json.dumps(payload).encode())
        return {TAG: SEALED, "v": base64.b64encode(given).decode()}

    def opened(self, stored: JSON) -> JSON:
        """Return a payload that was stored; raise Misuse if it is sealed and there is no seal."""
        if stored.__class__ is not dict or stored.get(TAG) != SEALED:
            return stored
        if self._seal is None:
            raise Misuse("The payloads in this database are sealed: give Engine(..., seal=...).")
        return json.loads(self._seal[1](base64.b64decode(stored["v"])))

    def _make_tables(self) -> None:
        """Make the tables, or migrate older ones; raise Misuse if a newer DBOS made them."""
        with suppress(SQLAlchemyError):  # there may be no such database yet
            theirs, mine = table_versions(self._client, self.sqlite)
            if 0 < theirs < mine:
                LOGGER.warning("an older DBOS made the tables: %s becomes %s", theirs, mine)
        DBOS.migrate(self.database)
        theirs, mine = table_versions(self._client, self.sqlite)
        if theirs > mine:
            raise Misuse(
                f"A newer DBOS made the tables of this database (version {theirs}, not {mine}): "
                "upgrade the package dbos, or give another database."
            )

    def close(self) -> None:
        stop_reconnecting(self._client)
        self._client.destroy()
        self.engine().dispose()

    def register(
        self, workflow: str, concurrency: int | None, poll: float, rate: tuple[int, float] | None
    ) -> None:
        """Make the queue of a workflow; each worker performs at most `concurrency` runs at once."""
        self._client.register_queue(
            queue_of(workflow),
            worker_concurrency=concurrency,
            limiter=None if rate is None else {"limit": rate[0], "period": rate[1]},
            polling_interval_sec=poll,
            on_conflict="always_update",
        )

    def park(self, start: NewRun, segment: int, due: float, owner: str) -> None:
        """Enqueue the segment after `segment`, to begin at `due` on the clock that workers share.

        Raises:
            DBOSWorkflowConflictIDError: `owner` does not own `segment`: the run was cancelled or
                paused, or another process has it.
        """
        with self.engine().begin() as connection:
            check_owner(self._client, connection, segment_id(start.run, segment), owner)
            after = segment_id(start.run, segment + 1)
            following = options_of(start, segment + 1)
            following["delay_seconds"] = 0.0  # by this machine's clock, so `due` replaces it below
            given = *start[:3], segment + 1, start.checkpoint
            self._client.enqueue_in_transaction(connection, following, *given)
            rows = tables(self._client).workflow_status
            change = sqlalchemy.update(rows).values(delay_until_epoch_ms=int(due * 1000))
            connection.execute(change.where(rows.c.workflow_uuid == after))

    def enqueue_all(self, starts: Iterable[NewRun]) -> None:
        """Enqueue new runs, except those whose ids exist."""
        with self.engine().begin() as connection:
            for start in starts:
                self._client.enqueue_in_transaction(connection, options_of(start, 0), *start[:3], 0)

    def engine(self) -> sqlalchemy.Engine:
        return connections(self._client)

    def _read(self, query: sqlalchemy.Executable) -> Sequence[Any]:
        with self.engine().begin() as connection:
            return connection.execute(query).all()

    def segments(self, run: str, first: int = 0) -> list[WorkflowStatus]:
        """Look up the segments of a run from number `first` on by their keys."""
        found: list[WorkflowStatus] = []
        size = 4
        while True:
            begin = first + len(found)
            ids = [segment_id(run, number) for number in range(begin, begin + size)]
            some = self._client.list_workflows(workflow_ids=ids, load_input=False)
            found += sorted(some, key=lambda status: ids.index(status.workflow_id))
            if len(some) < size:
                return found
            size = min(2 * size, BATCH)

    def workflows(self, runs: list[str]) -> dict[str, str]:
        rows, found = tables(self._client).workflow_status, dict[str, str]()
        asked = sqlalchemy.select(rows.c.workflow_uuid, rows.c.attributes)
        for ids in batched(runs):
            for run, attributes in self._read(asked.where(rows.c.workflow_uuid.in_(ids))):
                known: dict[str, str] = attributes or {}
                found[run] = known.get("workflow", "?")
        return found

    def recent(self, limit: int) -> list[str]:
        """Return the ids of the newest runs, the newest first."""
        rows = tables(self._client).workflow_status
        asked = sqlalchemy.select(rows.c.workflow_uuid).where(
            rows.c.name == DBOS_NAME, rows.c.workflow_uuid.not_like(f"%{SEPARATOR}%")
        )
        newest = asked.order_by(rows.c.created_at.desc()).limit(limit)
        return [run for (run,) in self._read(newest)]

    def forget(self, run: str) -> bool:
        """Delete a run and its journal; return false if it is unknown or can continue."""
        segments = self.segments(run)
        if not segments or any(map(is_open, segments)) or has_no_end(segments[-1]):
            return False
        tables = [one for one in tables_of(self._client) if "workflow_uuid" in one.c]
        with self.engine().begin() as connection:  # all or none, because `segments` stops at a gap
            for ids in batched([status.workflow_id for status in segments]):
                for table in tables:
                    connection.execute(table.delete().where(table.c.workflow_uuid.in_(ids)))
        return True

    def forget_ended(self, before: float) -> None:
        """Delete at most `BATCH` runs that ended before a time, in seconds since the epoch."""
        rows, outputs = tables(self._client).workflow_status, tables(self._client).workflow_output
        join = rows.outerjoin(outputs, rows.c.workflow_uuid == outputs.c.workflow_uuid)
        attributes = sqlalchemy.cast(rows.c.attributes, sqlalchemy.Text)
        ended = sqlalchemy.or_(
            (rows.c.status == "SUCCESS") & outputs.c.output.not_like('{"next"%'),
            (rows.c.status == "ERROR") & outputs.c.error.contains('"stuck":false'),
            (rows.c.status == "CANCELLED") & attributes.contains(f'"{CANCELLED}"'),
        )
        asked = sqlalchemy.select(rows.c.workflow_uuid).select_from(join)
        old = asked.where(rows.c.name == DBOS_NAME, rows.c.completed_at < int(before * 1000), ended)
        for (segment,) in self._read(old.limit(BATCH)):
            self.forget(run_of(segment))

    def last(self, run: str) -> WorkflowStatus | None:
        """Look up the last segment of a run by its key; return `None` if there is none."""
        low, step = 0, 1
        while step:
            found = bool(self.workflows([segment_id(run, low + step)]))
            low, step = (low + step, 2 * step) if found else (low, step // 2)
        segments = self.segments(run, low)
        return segments[-1] if segments else None

    def newest_segments(self, run: str) -> list[WorkflowStatus]:
        """Return a run's segments, or the first and the last two if it has reached a checkpoint."""
        last = self.last(run)
        if last is None or not waits_before(last):
            return self.segments(run)
        first = self._client.list_workflows(workflow_ids=[run], load_input=False)
        number = int(last.workflow_id.partition(SEPARATOR)[2])
        return first + self.segments(run, number - 1)

    def can_continue(self, run: str) -> bool:
        """Return whether a run is active, paused or stuck, or has no recorded end: `has_no_end`."""
        last = self.last(run)
        return last is not None and (is_open(last) or has_no_end(last))

    def rests(self, run: str) -> bool:
        """Return whether a run is parked or paused, so that no process performs it."""
        last = self.last(run)
        return last is not None and (
            last.status == "DELAYED"
            or (last.status == "CANCELLED" and not is_cancelled(last) and not is_resumed(last))
        )

    def steps(self, segment: str) -> list[tuple[int, Entry | None]]:
        """Return the number of each step of a segment, with its entry or `None`."""
        return self.steps_of([segment])[segment]

    def steps_of(self, segments: list[str]) -> dict[str, list[tuple[int, Entry | None]]]:
        rows = tables(self._client).operation_outputs
        asked = sqlalchemy.select(rows.c.workflow_uuid, rows.c.function_id, rows.c.output)
        found: dict[str, list[tuple[int, Entry | None]]] = {segment: [] for segment in segments}
        with self.engine().begin() as connection:
            for ids in batched(segments):
                some = asked.where(rows.c.workflow_uuid.in_(ids)).order_by(rows.c.function_id)
                for segment, number, output in connection.execute(some):
                    found[segment].append((number, entry_of(json.loads(output or "null"))))
        return found

    def given(self, run: str) -> dict[str, JSON]:
        """Return the arguments, the seed and the fingerprint with which a run started."""
        found = self._client.list_workflows(workflow_ids=[run])
        given: dict[str, JSON] = found[0].input["args"][1] if found and found[0].input else {}
        return given

    def resume(self, run: str) -> bool:
        """Resume a run that is paused, stuck or without a recorded end; return false for others.

        On a server, the worker that had the run enqueues it again once the run's current command
        has ended; if that worker is dead, another one does. On SQLite the run is enqueued
        immediately, but performs no command before its current one has ended.
        """
        last = self.last(run)
        if last is None or is_cancelled(last):
            return False
        if last.status == "CANCELLED":
            self._mark(last, RESUMES, True)
            if self.sqlite:
                self.enqueue_resumed(last)
            return True
        if not is_stuck(last) and not has_no_end(last):
            return False
        self.rewind(last)
        return True

    def stuck(self) -> list[WorkflowStatus]:
        """Return the stuck segments, which wait for other code."""
        rows, outputs = tables(self._client).workflow_status, tables(self._client).workflow_output
        asked = sqlalchemy.select(rows.c.workflow_uuid).where(
            rows.c.name == DBOS_NAME,
            rows.c.status == "ERROR",
            rows.c.workflow_uuid == outputs.c.workflow_uuid,
            outputs.c.error.contains('"stuck":true'),
        )
        found = [segment for (segment,) in self._read(asked)]
        if not found:
            return []
        return self._client.list_workflows(workflow_ids=found, load_input=False)

    def waiting(self, known: Iterable[str]) -> dict[str, int]:
        """Return the number of queued runs of each workflow that is not among the `known` ones."""
        rows = tables(self._client).workflow_status
        asked = sqlalchemy.select(rows.c.queue_name, sqlalchemy.func.count()).where(
            rows.c.name == DBOS_NAME,
            rows.c.status == "ENQUEUED",
            rows.c.queue_name.not_in([queue_of(name) for name in known]),
        )
        found = self._read(asked.group_by(rows.c.queue_name))
        return {queue.removeprefix(QUEUE): number for queue, number in found}

    def rewind(self, ended: WorkflowStatus) -> None:
        """Enqueue a segment that has ended, to continue after its last step.

        Do nothing if another worker has done so.
        """
        queue = queue_of((ended.attributes or {})["workflow"])
        steps = self.steps(ended.workflow_id)
        following = max((number for number, _ in steps), default=0) + 1
        with suppress(dbos_errors.DBOSException):
            self._client.rewind_workflow(ended.workflow_id, start_step=following, queue_name=queue)

    def resumed(self) -> dict[str, list[WorkflowStatus]]:
        """Return the resumed segments that are not enqueued yet, grouped by their workers."""
        found: dict[str, list[WorkflowStatus]] = {}
        for status in self._client.list_workflows(
            name=DBOS_NAME,
            status="CANCELLED",
            attributes={RESUMES: True},
            load_input=False,
            load_output=False,
        ):
            if not is_cancelled(status):
                found.setdefault(status.executor_id or "", []).append(status)
        return found

    def enqueue_resumed(self, status: WorkflowStatus) -> None:
        """Enqueue a resumed segment, unless it was paused again."""
        queue = queue_of((status.attributes or {})["workflow"])
        self._client.resume_workflow(status.workflow_id, queue_name=queue)
        (now,) = self._client.list_workflows(workflow_ids=[status.workflow_id], load_input=False)
        if is_cancelled(now) or not is_resumed(now):
            self._client.cancel_workflows([status.workflow_id])
        else:
            self._mark(status, RESUMES, False)

    def owned(self, run: str, segment: int, owner: str) -> bool:
        """Return whether `owner` is the ownership token of a segment, see `owner_of`."""
        return owner_in_database(self._client, segment_id(run, segment)) == owner

    def working(self) -> set[str]:
        """Return the ids of the workers that perform runs, dead ones included."""
        found = self._client.list_workflows(
            name=DBOS_NAME, status="PENDING", load_input=False, load_output=False
        )
        return {status.executor_id for status in found if status.executor_id is not None}

    def enqueue_again(self, worker: str) -> int:
        """Put the runs of a dead worker back in their queues; return their number."""
        rows = tables(self._client).workflow_status
        return self._enqueue_pending(rows.c.name == DBOS_NAME, rows.c.executor_id == worker)

    def give_back(self, segment: str, worker: str, owner: str) -> None:
        """Put a segment back in its queue after the database has failed to record its end.

        Do nothing if another worker has taken the segment, or if it was cancelled.
        """
        if self.enqueue_one(segment, owner):
            return
        for status in self._client.list_workflows(workflow_ids=[segment], load_input=False):
            if status.executor_id == worker and has_no_end(status):
                self.rewind(status)

    def enqueue_one(self, segment: str, owner: str) -> bool:
        """Put a segment back in its queue; return false if `owner` no longer owns it."""
        rows = tables(self._client).workflow_status
        mine = rows.c.workflow_uuid == segment, rows.c.owner_xid == owner
        return self._enqueue_pending(*mine) > 0

    def performed_by(self, worker: str) -> set[tuple[str, str]]:
        """Return the segments of a worker, each with its ownership token, see `owner_of`."""
        rows = tables(self._client).workflow_status
        asked = sqlalchemy.select(rows.c.workflow_uuid, rows.c.owner_xid).where(
            rows.c.name == DBOS_NAME, rows.c.status == "PENDING", rows.c.executor_id == worker
        )
        return {(segment, owner) for segment, owner in self._read(asked) if owner}

    def _enqueue_pending(self, *which: sqlalchemy.ColumnElement[bool]) -> int:
        """Take segments from their workers, and put them in their queues; return their number.

        DBOS offers two calls for that: to list segments, and to resume one. A process whose second
        call is late, or is repeated because its answer was lost, would take a segment from a worker
        that has begun it meanwhile.
        """
        rows = tables(self._client).workflow_status
        change = sqlalchemy.update(rows).where(rows.c.status == "PENDING", *which)
        values = {"status": "ENQUEUED", "owner_xid": None, "started_at_epoch_ms": None}
        with self.engine().begin() as connection:
            return connection.execute(change.values(values)).rowcount

    def cancel(self, run: str) -> None:
        """Cancel a run for good; if a process performs it, its `finally` blocks run."""
        active = True
        while active:
            found = self.segments(run)
            for status in found:
                self._mark(status, CANCELLED, True)
            active = self._cancel_active(found)

    def pause(self, run: str) -> None:
        """Pause a run: it performs no further command until it is resumed."""
        active = True
        while active:
            found = self.segments(run)
            for status in found:
                if is_resumed(status):
                    self._mark(status, RESUMES, False)
            active = self._cancel_active(found)

    def _mark(self, status: WorkflowStatus, attribute: str, given: bool) -> None:
        self._client.update_workflow_attributes(status.workflow_id, {attribute: given}, merge=True)

    def _cancel_active(self, segments: list[WorkflowStatus]) -> bool:
        """Cancel active segments; return whether to look again, because others may be active now.

        A stuck segment, or one without a recorded end, is enqueued first, because DBOS considers it
        ended, and cancels no ended segment.
        """
        ended = [one for one in segments if is_stuck(one)] + [*filter(has_no_end, segments[-1:])]
        for status in ended:
            self.rewind(status)
        active = [status.workflow_id for status in segments if status.status in ACTIVE]
        if active:
            self._client.cancel_workflows(active)
        return bool(active or ended)


def batched(keys: list[str]) -> Iterator[list[str]]:
    return (keys[begin : begin + BATCH] for begin in range(0, len(keys), BATCH))


def owner_of(run: str, segment: int) -> str:
    """Return the ownership token for a segment, inside the task that performs it."""
    return current_owner(segment_id(run, segment))


def options_of(start: NewRun, segment: int) -> EnqueueOptions:
    waits = 0 if start.checkpoint is None else start.checkpoint.waits
    return {
        "workflow_name": DBOS_NAME,
        "queue_name": queue_of(start.workflow),
        "workflow_id": segment_id(start.run, segment),
        "app_version": VERSION,
        "serialization_type": WorkflowSerializationFormat.PORTABLE,
        "attributes": {"workflow": start.workflow, "run": start.run, WAITS: waits},
    }


def entry_of(output: Any) -> Entry | None:
    entry: Entry | None = output if output.__class__ is dict and "at" in output else None
    return entry


def data_of(status: WorkflowStatus) -> dict[str, Any]:
    """Return the data of a failed run, see `RunFailed`."""
    error = status.error
    data: Any = error.data if isinstance(error, PortableWorkflowError) else None
    return data if data.__class__ is dict else {}


def is_open(status: WorkflowStatus) -> bool:
    """Return whether a run is active, paused or stuck."""
    paused = status.status == "CANCELLED" and not is_cancelled(status)
    return paused or status.status in ACTIVE or is_stuck(status)


def is_stuck(status: WorkflowStatus) -> bool:
    """Return whether a run waits for code that can continue it."""
    return status.status == "ERROR" and bool(data_of(status).get("stuck"))


def has_no_end(status: WorkflowStatus) -> bool:
    """Return whether a run has no recorded end, because the database failed when it ended."""
    return status.status == "ERROR" and "failure" not in data_of(status)


def encoded_failure(status: WorkflowStatus) -> JSON:
    return json.loads(data_of(status)["failure"])


def kind_of(encoded: JSON) -> str:
    """Return the name of the class of an encoded failure; this process may lack the class."""
    return str(encoded.get("k", SEALED)).rpartition(":")[2]


def converted(entry: Entry, convert: Callable[[JSON], JSON]) -> Entry:
    """Seal or open the parts of an entry that handlers or users have made."""
    parts: Entry = {key: convert(entry[key]) for key in ("a", "f", "v") if key in entry}
    if "c" in entry:
        parts["c"] = [*entry["c"][:2], convert(entry["c"][2])]
    return entry | parts


def is_cancelled(status: WorkflowStatus) -> bool:
    """Return whether a run was cancelled, rather than paused."""
    return CANCELLED in (status.attributes or {})


def is_resumed(status: WorkflowStatus) -> bool:
    return bool((status.attributes or {}).get(RESUMES))


def waits_before(status: WorkflowStatus) -> int:
    """Return the number of waits before a segment that begins at a checkpoint; 0 for any other."""
    return int((status.attributes or {}).get(WAITS, 0))


def file_of(database: str) -> str:
    """Return the path in the URL of a SQLite database.

    >>> file_of("sqlite:////tmp/100%25/runs.sqlite")
    '/tmp/100%/runs.sqlite'
    """
    return sqlalchemy.make_url(database).database or ""


def queue_of(workflow: str) -> str:
    """Return the queue of one workflow, so that workers take only runs that they can perform."""
    return f"{QUEUE}{workflow}"


def run_of(segment: str) -> str:
    return segment.partition(SEPARATOR)[0]


def segment_id(run: str, segment: int) -> str:
    return f"{run}{SEPARATOR}{segment}" if segment else run


def checked_id(run: str) -> str:
    given: object = run
    if (
        not isinstance(given, str)
        or not given.strip()
        or not given.isprintable()
        or SEPARATOR in given
        or len(given) > LONGEST_ID
    ):
        raise Misuse(
            f"The id {run!r}: give a string of 1 to {LONGEST_ID} printable characters without "
            f"{SEPARATOR}, not only spaces."
        )
    return run


def checked_database(database: str) -> str:
    given: object = database
    kinds = ("sqlite:///", "postgresql://", "postgresql+psycopg://")
    no_file = ("sqlite:///", "sqlite:///:memory:")
    if not isinstance(given, str) or not given.startswith(kinds) or given in no_file:
        raise Misuse(
            "database=...: give the URL of a file, sqlite:///runs.sqlite, or of a server, "
            "postgresql://user@host/name."
        )
    return database
