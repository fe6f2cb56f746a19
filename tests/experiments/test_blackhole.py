"""Readers of three servers, one of which never answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.experiments.blackhole import black_hole
from benchmarks.experiments.services.single import FetchFile, Probe, SingleThreaded
from ixbackoff import N20, Exponential, at, do
from ixbackoff.fleet import Outcome, simulate


def fetched(program: Callable[[int], Any], clients: int, seconds: float = 99.0) -> Outcome:
    servers = SingleThreaded()
    return simulate(
        program,
        servers.serves(FetchFile) | servers.serves(Probe),
        clients=clients,
        seconds=seconds,
        schedule=Exponential(),
        trace=True,
    )


def test_a_server_does_one_thing_at_a_time() -> None:
    outcome = fetched(lambda number: at(N20).retry(FetchFile(1 + number // 2)), clients=4)
    ends = sorted(second for second, one in enumerate(outcome.seconds) for _ in range(one.well))
    assert ends == [10, 10, 20, 20]  # two servers, two readers each


def test_a_black_hole_never_answers() -> None:
    outcome = fetched(lambda number: at(N20).retry(FetchFile(0)), clients=1)
    assert outcome.total(lambda one: one.well + one.failed) == 0


def test_who_gives_up_at_a_busy_server_is_not_served_any_more() -> None:
    outcome = fetched(
        lambda number: at(N20).retry(do(FetchFile(1)).limit(15 if number else 60)), clients=3
    )
    fetches = [one for one in outcome.trace if isinstance(one.command, FetchFile)]
    assert [(one.client, one.failure is None) for one in fetches][:3] == [
        (0, True),
        (1, False),
        (2, False),
    ]
    assert outcome.ended < 60


def test_the_server_goes_on_when_whom_it_serves_has_gone() -> None:
    outcome = fetched(
        lambda number: at(N20).retry(do(FetchFile(1)).limit(60 if number else 4)),
        clients=2,
        seconds=15,
    )
    assert outcome.total(lambda one: one.well) == 1
    assert outcome.seconds[14].well == 1  # from 4 s to 14 s


@pytest.mark.parametrize("seed", range(3))
def test_looking_first_reads_most(seed: int) -> None:
    fixed, aloha, ethernet = black_hole(seed=seed)
    assert 180 >= ethernet.reads > 1.4 * aloha.reads > 2 * fixed.reads
    assert (fixed.abandoned, aloha.abandoned > 0, ethernet.abandoned > 0) == (0, True, True)


def test_without_a_black_hole_nothing_is_lost() -> None:
    for one in black_hole(300, readers=2, servers=SingleThreaded(black_holes=())):
        assert one.reads > 40
