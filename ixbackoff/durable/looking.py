"""Runs, as they are seen from outside: their state, and their commands."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from dbos import WorkflowStatus

from .journal import Entry, after
from .store import Store, failure_of, has_no_end, is_cancelled, is_resumed

OVER = {"SUCCESS": "done", "MAX_RECOVERY_ATTEMPTS_EXCEEDED": "given up"}


class Look(NamedTuple):
    """One run, as the command line shows it.

    Attributes:
        run: its id.
        recipe: the name of its recipe.
        began: when it was begun, in seconds since the epoch.
        worker: the worker that had it last.
        rung: how many waits are left, if it has waited.
        wait_count: the number of waits that it has begun.
        state: what it does now, or how it ended.
    """

    run: str
    recipe: str
    began: float
    worker: str
    rung: int | None
    wait_count: int
    state: str


class RecordedCommand(NamedTuple):
    """One command of a run.

    Attributes:
        place: its place.
        shown: its `repr`, without secrets.
        came: "answered"; "failed: " and the failure; "aborted"; or until when it waits.
    """

    place: str
    shown: str
    came: str


def look(store: Store, run: str) -> Look | None:
    """Look at a run; return `None` if there is no such run."""
    stretches = store.stretches(run)
    if not stretches:
        return None
    entries = entries_of(store, stretches)
    waits = [entry for entry in entries.values() if "seconds" in entry]
    rung = int(waits[-1]["c"][1].rpartition(" ")[2]) if waits else None
    if rung is not None and after(waits[-1]["at"]) in entries:
        rung -= 1
    last = stretches[-1]
    recipe = (last.attributes or {}).get("recipe", "?")
    began = (stretches[0].created_at or 0) / 1000
    state = state_of(last, list(entries.values()))
    return Look(run, recipe, began, last.executor_id or "-", rung, len(waits), state)


def commands(store: Store, run: str) -> list[RecordedCommand]:
    """Return the commands of a run, in the order in which they were kept."""
    found = entries_of(store, store.stretches(run)).values()
    return [RecordedCommand(one["at"], one["c"][2], came(one)) for one in found if "c" in one]


def entries_of(store: Store, stretches: list[WorkflowStatus]) -> dict[str, Entry]:
    """Return the entries of a run by their places."""
    return {
        entry["at"]: entry
        for stretch in stretches
        for _, entry in store.steps(stretch.workflow_id)
        if entry is not None
    }


def came(entry: Entry) -> str:
    """Say what came of a command."""
    if "due" in entry:
        return f"until {clock(entry['due'])}"
    if "f" in entry:
        return f"failed: {entry['f']['k'].rpartition(':')[2]}"
    return "aborted" if "x" in entry else "answered"


def state_of(last: WorkflowStatus, entries: list[Entry]) -> str:
    """Say what a run does now, or how it ended."""
    status: str = last.status
    if has_no_end(last):
        return "waits for the database"
    if status == "ERROR":
        failure: Any = failure_of(last)
        return f"failed: {failure.__class__.__name__}"
    if status == "CANCELLED":
        if is_cancelled(last):
            return "cancelled"
        return "resumed" if is_resumed(last) else "paused"
    if status == "DELAYED":
        until = clock((last.delay_until_epoch_ms or 0) / 1000)
        return f"waits until {until}, parked"
    if status == "ENQUEUED":
        return "queued"
    if status == "PENDING" and entries:
        return doing(entries[-1])
    return OVER.get(status, "begins")


def doing(entry: Entry) -> str:
    """Say what a run does after its last entry."""
    if "due" in entry:
        return f"waits until {clock(entry['due'])}"
    return f"after {entry['c'][2]}" if "c" in entry else "performs"


def clock(epoch: float) -> str:
    """Write a time of day, and the day if it is not today."""
    moment, today = time.localtime(epoch), time.localtime()
    same = moment[:3] == today[:3]
    return time.strftime("%H:%M:%S" if same else "%Y-%m-%d %H:%M:%S", moment)
