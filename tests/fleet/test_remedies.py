"""What would have saved the server of the crash, with the queue of today's kernels."""

from __future__ import annotations

import pytest

from ixbackoff.fleet.experiments.remedies import EXPERIMENT, REMEDIES, Remedy, remedied, simulated

pytestmark = pytest.mark.slow


def test_with_4096_places_only_circuit_breakers_save_the_server() -> None:
    some = remedied(backlogs=[4096], watch=40, seeds=1)
    assert [one.back == 1 for one in some] == [one.remedy.breaker for one in some]
    assert all(one.after < 50 for one in some if one.remedy.breaker)


def test_first_tries_alone_fill_the_queue() -> None:
    """A budget takes the retries away; 1000 clients ask every 12 s at least."""
    [budget] = [remedy for remedy in REMEDIES if remedy.budget]
    outcome = simulated(budget, 4096, 1000, 20, 10, 1)
    assert outcome.rate(lambda second: second.asked, 30, 35) == pytest.approx(1000 / 12, rel=0.1)
    assert outcome.seconds[35].load > 1500


def test_a_remedy_is_anew_for_each_seed() -> None:
    breakers = Remedy("breakers", "fixed", 4, breaker=True)
    assert simulated(breakers, 8, 40, 5, 5, 1) == simulated(breakers, 8, 40, 5, 5, 1)


def test_the_table_has_a_line_for_each() -> None:
    some = remedied(3, clients=20, watch=4, seeds=2, backlogs=[128])
    assert len(EXPERIMENT.table(some).splitlines()) == 1 + len(REMEDIES)
    assert EXPERIMENT.table(some).endswith(" of 2")
