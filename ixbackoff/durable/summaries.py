"""Summaries of runs, as the command line shows them: the state of a run, and its commands."""

from __future__ import annotations

import time
from typing import NamedTuple

from dbos import WorkflowStatus

from .._words.rungs import DEEPEST
from .codec import decode
from .journal import Entry, after
from .store import (
    SEALED,
    Store,
    encoded_failure,
    has_no_end,
    is_cancelled,
    is_resumed,
    is_stuck,
    kind_of,
    waits_before,
)


class RunSummary(NamedTuple):
    """The summary of a run, as `Engine.runs` returns it.

    >>> from ixbackoff.durable import RunSummary
    >>> RunSummary("order-1", "order", 0.0, "", 3, 0, "waiting until 12:00").rung
    3

    Attributes:
        began: the start of the run, in seconds since the epoch.
        worker: the id of the worker that had the run last; "-" if none had it, or it is parked.
        rung: the number of waits that are left, `None` before the first wait; at `FOREVER` it
            counts down from 20, and is 1 from the 21st wait on.
        wait_count: the number of waits that the run has begun.
        state: the last recorded command of the run, the time until which it waits, how it ended, or
            a word such as "queued" or "paused".
    """

    run: str
    workflow: str
    began: float
    worker: str
    rung: int | None
    wait_count: int
    state: str


class RecordedCommand(NamedTuple):
    """One command of a run."""

    place: str
    shown: str  # its `repr` or a description, without secrets of standard commands
    outcome: str  # "answered", "aborted", "failed: " and the class, or "until " and a time


def summary_of(store: Store, run: str) -> RunSummary | None:
    """Summarize a run; return `None` if no run has this id."""
    segments = store.newest_segments(run)
    if not segments:
        return None
    before = waits_before(segments[-1])
    entries = entries_of(store, segments[1:] if before else segments)
    waits = [entry for entry in entries.values() if "seconds" in entry]
    count = len(waits)
    if before:
        last_entries = entries_of(store, segments[-1:]).values()
        count = before + sum("seconds" in entry for entry in last_entries)
    rung = int(waits[-1]["c"][1].rpartition(" ")[2]) if waits else None
    if rung is not None and after(waits[-1]["at"]) in entries:
        rung = max(rung - 1, int(count > DEEPEST))  # only FOREVER has that many waits
    last = segments[-1]
    workflow = (last.attributes or {}).get("workflow", "?")
    began = (segments[0].created_at or 0) / 1000
    state = state_of(last, list(entries.values()))
    return RunSummary(run, workflow, began, last.executor_id or "-", rung, count, state)


def summaries(store: Store, limit: int) -> list[RunSummary]:
    """Summarize the newest runs, the newest first."""
    found = [summary_of(store, run) for run in store.recent(limit)]
    return [one for one in found if one is not None]


def commands(store: Store, run: str) -> list[RecordedCommand]:
    """Return the commands of a run; concurrent ones in the order in which they began."""
    found = entries_of(store, store.segments(run)).values()
    return [RecordedCommand(one["at"], shown(one), outcome(one)) for one in found if "c" in one]


def entries_of(store: Store, segments: list[WorkflowStatus]) -> dict[str, Entry]:
    found = store.steps_of([segment.workflow_id for segment in segments]).values()
    return {entry["at"]: entry for steps in found for _, entry in steps if entry is not None}


def outcome(entry: Entry) -> str:
    if "due" in entry:
        return f"until {clock(entry['due'])}"
    if "f" in entry:
        return f"failed: {kind_of(entry['f'])}"
    return "aborted" if "x" in entry else "answered"


def state_of(last: WorkflowStatus, entries: list[Entry]) -> str:
    status: str = last.status
    if has_no_end(last):
        return "waiting for the database"
    if status == "ERROR":
        encoded = encoded_failure(last)  # not decoded: this process may lack its class
        kind, text = kind_of(encoded), decode(encoded.get("text", SEALED))
        return f"stuck: {kind}: {text}" if is_stuck(last) else f"failed: {kind}"
    if status == "CANCELLED":
        if is_cancelled(last):
            return "cancelled"
        return "resumed" if is_resumed(last) else "paused"
    if status == "DELAYED":
        until = clock((last.delay_until_epoch_ms or 0) / 1000)
        return f"waiting until {until}, parked"
    if status == "ENQUEUED":
        return "queued"
    if status == "PENDING" and entries:
        entry = entries[-1]
        if "due" in entry:
            return f"waiting until {clock(entry['due'])}"
        return f"after {shown(entry)}" if "c" in entry else "performing"
    return "done" if status == "SUCCESS" else "starting"


def shown(entry: Entry) -> str:
    text = entry["c"][2]
    return text if isinstance(text, str) else SEALED


def clock(epoch: float) -> str:
    moment, today = time.localtime(epoch), time.localtime()
    same = moment[:3] == today[:3]
    return time.strftime("%H:%M:%S" if same else "%Y-%m-%d %H:%M:%S", moment)
