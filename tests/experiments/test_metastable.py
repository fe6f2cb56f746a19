"""Metastable failures: the boundary of HotOS'21, and the four outcomes of OSDI'22."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.experiments.__main__ import main as experiments
from benchmarks.experiments.metastable import (
    CAPACITY,
    EXPERIMENT,
    boundary,
    metastable,
    simulated,
)

PAGE = Path(__file__).parent.parent.parent / "docs" / "metastable.md"
pytestmark = pytest.mark.slow


@pytest.mark.parametrize("retries", [1, 2, 3, 4])
def test_the_boundary_of_retries_is_that_of_the_closed_form(retries: int) -> None:
    """The paper: a short outage shows that a database is vulnerable above 300 / (1 + k)."""
    assert boundary(retries) == 300 / (1 + retries)
    for seed in range(2):
        below, above = (
            simulated(retries, round(share * boundary(retries)), 10, 150, seed)
            for share in (0.9, 1.1)
        )
        assert below.recovered is not None
        assert above.recovered is None
        assert not any(above.well[-100:])
        assert above.before == pytest.approx(1.1 * boundary(retries), rel=0.15)


def test_without_retries_every_load_below_the_capacity_comes_back() -> None:
    assert boundary(0) == CAPACITY
    assert simulated(0, 270, 10, 120, 0).recovered is not None


def test_there_are_four_outcomes() -> None:
    some = {(one.rate, one.outage): one for one in metastable([1], seed=1)}
    assert {kind: one.outcome for kind, one in some.items()} == {
        (135, 1): "stable",
        (135, 10): "stable",
        (165, 1): "vulnerable, recovers",
        (165, 10): "metastable",
        (330, 1): "down from the start",
        (330, 10): "down from the start",
    }
    assert some[165, 10].watched.outcome.rate(lambda second: second.asked, 100, 160) > CAPACITY
    titles = [panel.title for row in EXPERIMENT.picture([*some.values()]).panels for panel in row]
    assert [title.partition(":")[0] for title in titles] == [
        "stable",
        "vulnerable, recovers",
        "metastable",
        "down from the start",
    ]


def test_the_page_has_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert experiments(["metastable", "--retries", "1", "--retries", "4"]) == 0
    [block] = re.findall(
        r"^```text printed by the first\n(.*?)^```$", PAGE.read_text(), re.M | re.S
    )
    assert capsys.readouterr().out.splitlines() == [
        line for line in block.splitlines() if not re.match(" +[02] ", line)
    ]
