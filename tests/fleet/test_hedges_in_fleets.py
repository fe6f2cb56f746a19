"""Hedges in a fleet: shorter tails, for few more requests, and no fewer runs that succeed."""

from __future__ import annotations

from statistics import mean

import pytest

from benchmarks.hedging import Measured, simulated

SEEDS = 4


def means(way: str, load: float) -> Measured:
    runs = [simulated(way, load, False, seed) for seed in range(SEEDS)]
    return Measured(*[mean(column) for column in zip(*runs, strict=True)])


@pytest.mark.slow
def test_the_tail_at_half_the_capacity_is_shorter() -> None:
    without, hedged = means("none", 0.5), means("Hedge()", 0.5)
    assert hedged.p99 <= 0.7 * without.p99
    assert hedged.more - without.more <= 0.05


@pytest.mark.slow
def test_the_goodput_at_four_fifths_is_what_it_was() -> None:
    assert means("Hedge()", 0.8).well >= 0.98 * means("none", 0.8).well
