"""One function with many seeds on a cluster of Dask: the same as in this process."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from importlib import import_module
from typing import Any

import pytest

from ixbackoff import Misuse, RetryBudget
from ixbackoff.fleet import each_seed

from ..support.fleets.seeded import SEEDS, digested, fails_at_2, many

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def dask() -> Iterator[Executor]:
    """A cluster of two workers on loopback, without a dashboard; it ends with the tests."""
    distributed: Any = import_module("distributed")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
    )
    with cluster, distributed.Client(cluster) as client:
        yield client.get_executor()


def test_the_same_seed_gives_the_same_events(dask: Executor) -> None:
    assert [*each_seed(digested, SEEDS, executor=dask).results] == [
        digested(seed) for seed in SEEDS
    ]
    assert many(executor=dask) == many(jobs=1)


def test_what_cannot_be_sent_is_told(dask: Executor) -> None:
    lock_is_inside = RetryBudget(1)
    with pytest.raises(Misuse, match="cannot be sent"):
        each_seed(lambda _: lock_is_inside, 2, executor=dask)
    assert each_seed(lambda seed: seed + 1, 2, executor=dask).results == (1, 2)  # cloudpickle can


def test_a_failure_names_its_seed(dask: Executor) -> None:
    with pytest.raises(ZeroDivisionError) as raised:
        each_seed(fails_at_2, 4, executor=dask)
    assert raised.value.__notes__[0] == "ixbackoff: with seed=2"
    assert "in fails_at_2" in raised.value.__notes__[1]
