"""States that are equal are looked at once, and nothing is lost by that."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import islice
from typing import Any

import pytest

from ixbackoff.testing.exploring import Broken
from ixbackoff.testing.exploring.history_execution import Machine
from ixbackoff.testing.exploring.processes import Strand

from ..support.generators.random_models import (
    Found,
    Searching,
    every_end,
    found,
    search,
    timed_search,
)

SEEDS = 100


@cache
def known(seed: int, searching: Searching = search) -> Found:
    """What `found` finds with merging, once for all tests."""
    return found(seed, merge=True, searching=searching)


@pytest.mark.parametrize("tens", range(SEEDS // 10))
def test_merging_loses_nothing(tens: int) -> None:
    for seed in range(10 * tens, 10 * tens + 10):
        assert known(seed)[0] == found(seed, merge=False)[0], seed


@pytest.mark.slow
@pytest.mark.parametrize("tens", range(SEEDS // 10))
def test_merging_loses_nothing_that_depends_on_time(tens: int) -> None:
    for seed in range(10 * tens, 10 * tens + 10):
        whole = found(seed, merge=False, searching=timed_search)
        assert known(seed, timed_search)[0] == whole[0], seed


def without_late_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    key = Machine.key

    def changed(machine: Machine) -> int:
        late, machine.on_the_way = machine.on_the_way, ()
        try:
            return key(machine)
        finally:
            machine.on_the_way = late

    monkeypatch.setattr(Machine, "key", changed)


def without_the_time_of_strands(monkeypatch: pytest.MonkeyPatch) -> None:
    state = Strand.state

    def changed(strand: Strand, timed: bool) -> Any:
        now, strand.now = strand.now, 0.0
        try:
            return state(strand, timed)
        finally:
            strand.now = now

    monkeypatch.setattr(Strand, "state", changed)


def without_the_times_told(monkeypatch: pytest.MonkeyPatch) -> None:
    state, received = Strand.state, Strand.receive

    def known(strand: Strand, timed: bool) -> Any:
        times, strand.line.times = strand.line.times, []
        try:
            return state(strand, timed)
        finally:
            strand.line.times = times

    def receive(strand: Strand, answer: Any, failure: BaseException | None) -> None:
        strand.line.times = []
        received(strand, answer, failure)

    monkeypatch.setattr(Strand, "state", known)
    monkeypatch.setattr(Strand, "receive", receive)


@pytest.mark.slow
@pytest.mark.parametrize(
    "forget", [without_late_commands, without_the_time_of_strands, without_the_times_told]
)
def test_a_state_that_leaves_something_out_is_noticed(
    forget: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = [known(seed, timed_search)[0] for seed in range(SEEDS)]
    forget(monkeypatch)
    less = (found(seed, merge=True, searching=timed_search)[0] for seed in range(SEEDS))
    changed = (one != other for one, other in zip(whole, less, strict=True))
    assert [*islice(filter(None, changed), 3)] == [True] * 3


def test_random_searches_are_of_both_kinds() -> None:
    seeds = range(0, SEEDS, 2)
    wrong = sum(bool(known(seed)[0]) for seed in seeds)
    assert len(seeds) / 4 < wrong < len(seeds) * 3 / 4


@pytest.mark.parametrize("tens", range(SEEDS // 10))
def test_each_history_that_is_printed_is_replayed(tens: int) -> None:
    for seed in range(10 * tens, 10 * tens + 10):
        for broken in known(seed)[1]:
            model, programs, how = search(seed)
            how["at_end"] = every_end if seed % 2 else None
            with pytest.raises(Broken) as caught:
                model.explore(*programs, only=str(broken.history), **how)
            assert str(caught.value) == str(broken)


@pytest.mark.slow
@pytest.mark.parametrize("tens", range(SEEDS // 10))
def test_a_history_that_depends_on_time_is_replayed(tens: int) -> None:
    for seed in range(10 * tens, 10 * tens + 10):
        for broken in known(seed, timed_search)[1]:
            model, programs, how = timed_search(seed)
            with pytest.raises(Broken) as caught:
                model.explore(*programs, at_end=every_end, only=str(broken.history), **how)
            assert str(caught.value) == str(broken)


def test_a_second_search_finds_the_same_histories() -> None:
    for seed in range(0, SEEDS, 5):
        once, again = known(seed), found(seed, merge=True)
        assert list(map(str, once[1])) == list(map(str, again[1]))
        assert once[2] == again[2]
