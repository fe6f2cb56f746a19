"""Runs that are cancelled or paused at the very moment in which they are parked."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from ixbackoff import N1, Constant, Stopped, at
from ixbackoff.durable import durable
from ixbackoff.durable.store import Store, segment_id

from ..support.durable.engines import Said, Say, until, working

# DBOS may submit a run to its event loop while it stops.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

WAIT = 0.3  # seconds


@durable(name="parked", schedule=Constant(WAIT))
def parked() -> Any:
    return at(N1).do(Say("before")).wait().do(Say("after"))


def test_a_run_that_is_cancelled_before_it_is_parked_performs_nothing_more(tmp_path: Path) -> None:
    said, park = Said(), Store.park

    def cancel_and_park(store: Store, *args: Any) -> None:
        store.cancel("one")
        park(store, *args)

    with (
        patch.object(Store, "park", cancel_and_park),
        working(tmp_path, said.interpreter, parked, hold=0) as engine,
    ):
        run = engine.start_with_id("one", parked)
        with pytest.raises(Stopped):
            run.result()
        time.sleep(2 * WAIT)
        assert [one.workflow_id for one in engine.store.segments("one")] == ["one"]
    assert said.what == ["before"]


def test_a_run_that_is_parked_while_it_is_cancelled_performs_nothing_more(tmp_path: Path) -> None:
    said, segments = Said(), Store.segments
    parks = [False]

    def list_and_wait(store: Store, run: str) -> Any:
        found = segments(store, run)
        if parks and len(found) == 1:
            parks.clear()
            until(lambda: len(segments(store, run)) == 2)
        return found

    with working(tmp_path, said.interpreter, parked, hold=0) as engine:
        run = engine.start_with_id("one", parked)
        with patch.object(Store, "segments", list_and_wait):
            until(lambda: said.what)
            engine.store.cancel("one")
        with pytest.raises(Stopped):
            run.result()
        time.sleep(2 * WAIT)
        assert not engine.store.resume("one")
    assert said.what == ["before"]


def test_a_run_that_is_paused_before_it_is_parked_goes_on_once_it_is_resumed(
    tmp_path: Path,
) -> None:
    said, park = Said(), Store.park
    pauses = [True]

    def pause_and_park(store: Store, *args: Any) -> None:
        if pauses:
            pauses.clear()
            store.pause("one")
        park(store, *args)

    with (
        patch.object(Store, "park", pause_and_park),
        working(tmp_path, said.interpreter, parked, hold=0) as engine,
    ):
        run = engine.start_with_id("one", parked)
        until(lambda: said.what and not pauses)
        time.sleep(2 * WAIT)
        assert said.what == ["before"]
        assert engine.store.resume("one")
        assert run.result() == "AFTER"
        ids = [one.workflow_id for one in engine.store.segments("one")]
        assert ids == ["one", segment_id("one", 1)]
    assert said.what == ["before", "after"]
