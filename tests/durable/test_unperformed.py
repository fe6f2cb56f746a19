"""A run that its worker took from the queue and lost sight of is performed all the same."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dbos._sys_db import SystemDatabase
from sqlalchemy.exc import OperationalError

from ixbackoff import N1, at, call
from ixbackoff.durable import durable, unperformed_runs
from ixbackoff.live import live

from ..support.durable.engines import until, working

LOST = OperationalError("select", {}, Exception("the server closed the connection"))


def failing_after(usual: Callable[..., Any], times: list[object]) -> Callable[..., Any]:
    """Lose the answer of a function of the database the first time that it has one."""

    def lost(*args: Any, **kwargs: Any) -> Any:
        answer = usual(*args, **kwargs)
        found = answer[0] if isinstance(answer, tuple) else answer
        if found and not times:
            times.append(answer)
            raise LOST
        return answer

    return lost


def test_the_answer_of_taking_a_run_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    performed: list[int] = []

    @durable(name="once")
    def once() -> Any:
        return at(N1).retry(call(performed.append, 1))

    times: list[object] = []
    usual = SystemDatabase.start_queued_workflows
    monkeypatch.setattr(SystemDatabase, "start_queued_workflows", failing_after(usual, times))
    monkeypatch.setattr(unperformed_runs, "ROUND", 0.3)
    with caplog.at_level(logging.WARNING, "ixbackoff"), working(tmp_path, live(), once) as engine:
        engine.start_with_id("one", once).result()
    assert times
    assert performed == [1]
    assert "run one was taken but not begun: it is back in its queue" in caplog.messages


@pytest.mark.slow
def test_a_run_that_a_task_performs_is_not_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    performed: list[int] = []

    @durable(name="long")
    def long() -> Any:
        return at(N1).do(call(performed.append, 1)).wait().do(call(performed.append, 2))

    monkeypatch.setattr(unperformed_runs, "ROUND", 0.1)
    with caplog.at_level(logging.WARNING, "ixbackoff"), working(tmp_path, live(), long) as engine:
        engine.start_with_id("one", long).result()
        until(lambda: not engine.store.performed_by("local"))
    assert performed == [1, 2]
    assert "taken and not begun" not in caplog.text
