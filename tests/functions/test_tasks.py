"""Frameworks that wait themselves ask for the seconds; their tasks are no functions."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import pytest

from ixbackoff import (
    FOREVER,
    N0,
    N2,
    N3,
    Constant,
    Exponential,
    Misuse,
    NotReady,
    Throttled,
    backoff,
)

from ..support.ids import shown


def soon(_: Exception) -> float:
    return 2.5


@pytest.mark.parametrize(
    ("made", "failure", "waits"),
    [
        (backoff(N3), NotReady(), [1, 2, 4, None, None]),
        (backoff(N2, schedule=Constant(5)), Throttled(7), [7, 7, None]),
        (backoff(N2, longest=60), Throttled(61), [None, None]),
        (backoff(N3), KeyError(), [None, None]),
        (backoff(N3, on=soon), KeyError(), [2.5, 2.5, 4, None]),
        (backoff(N0), NotReady(), [None, None]),
        (backoff(FOREVER, schedule=Exponential(cap=3)), NotReady(), [1, 2, 3, 3]),
    ],
    ids=shown,
)
def test_the_seconds_after_each_failure(made: Any, failure: Exception, waits: list[Any]) -> None:
    assert [made.wait_after(failure, k) for k in range(len(waits))] == waits
    if waits[0] is not None:
        jittered = made.replace(schedule=made._settings.schedule.jittered())
        assert jittered.wait_after(failure, 0) >= waits[0]


def test_the_number_is_0_or_more() -> None:
    with pytest.raises(ValueError, match="k=-1"):
        backoff(N3).wait_after(NotReady(), -1)


class Task:
    """The shape of a task of Celery and of Prefect."""

    def __call__(self) -> None: ...
    def delay(self) -> None: ...
    def apply_async(self) -> None: ...


def test_a_task_is_put_above() -> None:
    with pytest.raises(Misuse, match="put it below"):
        backoff(N3)(Task())
    assert backoff(N3)(Mock(return_value=3))() == 3
