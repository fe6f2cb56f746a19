"""States that are equal are looked at once, and nothing is lost by that."""

from __future__ import annotations

import pytest

from ixbackoff.testing.exploring import Broken

from ..support.random_models import every_end, found, search

SEEDS = 100


@pytest.mark.parametrize("tens", range(SEEDS // 10))
def test_merging_loses_nothing(tens: int) -> None:
    for seed in range(10 * tens, 10 * tens + 10):
        merged, _, _ = found(seed, merge=True)
        assert merged == found(seed, merge=False)[0], seed


def test_random_searches_are_of_both_kinds() -> None:
    seeds = range(0, SEEDS, 2)
    wrong = sum(bool(found(seed, merge=True)[0]) for seed in seeds)
    assert len(seeds) / 4 < wrong < len(seeds) * 3 / 4


@pytest.mark.parametrize("tens", range(SEEDS // 10))
def test_each_history_that_is_printed_is_replayed(tens: int) -> None:
    for seed in range(10 * tens, 10 * tens + 10):
        for broken in found(seed, merge=True)[1]:
            model, programs, how = search(seed)
            how["at_end"] = every_end if seed % 2 else None
            with pytest.raises(Broken) as caught:
                model.explore(*programs, only=str(broken.history), **how)
            assert str(caught.value) == str(broken)


def test_a_second_search_finds_the_same_histories() -> None:
    for seed in range(0, SEEDS, 5):
        once, again = found(seed, merge=True), found(seed, merge=True)
        assert list(map(str, once[1])) == list(map(str, again[1]))
        assert once[2] == again[2]
