"""What would have saved the server of the crash, with the queue of today's kernels."""

from __future__ import annotations

import pytest

from benchmarks.experiments.crash import Crash, Waiting, crash, crashed
from benchmarks.experiments.remedies import EXPERIMENT, FIXED, REMEDIES, breakers
from ixbackoff.fleet import SlowingServer

pytestmark = pytest.mark.slow


def remedied(remedy: Waiting, clients: int = 1000) -> Crash:
    server = SlowingServer(backlog=4096, lingering=30)
    return crashed(remedy, server, clients, 15, 20, 10, 1)


def test_with_4096_places_only_circuit_breakers_save_the_server() -> None:
    some = crash(backlog=[4096], waiting=REMEDIES)
    assert [one.recovers for one in some] == ["breakers" in one.remedy for one in some]
    assert all(one.after < 50 for one in some if "breakers" in one.remedy)


def test_first_tries_alone_fill_the_queue() -> None:
    """A budget takes the retries away; 1000 clients ask every 12 s at least."""
    [budget] = [remedy for remedy in REMEDIES if remedy.budget]
    outcome = remedied(budget).outcome
    assert outcome.rate(lambda second: second.asked, 30, 35) == pytest.approx(1000 / 12, rel=0.1)
    assert outcome.seconds[35].load > 1500


def test_a_remedy_is_anew_for_each_seed() -> None:
    assert remedied(breakers(FIXED, 4), 40) == remedied(breakers(FIXED, 4), 40)


def test_its_table_has_a_line_and_its_picture_five_lines_for_a_queue() -> None:
    some = crash(3, clients=20, watch=4, backlog=[128], waiting=REMEDIES)
    assert len(EXPERIMENT.rows(some)) == len(REMEDIES)
    [[panel], _] = EXPERIMENT.picture(some).panels
    assert [*panel.lines] == ["fixed", "exponential", "three waits", "budgets", "breakers"]
