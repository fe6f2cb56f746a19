"""Twelve pipelines are judged rightly, in as many histories as the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ixbackoff.testing.exploring import Broken

from ..support.models.pairs import PAIRS, Pair

PAGE = Path(__file__).parents[2] / "docs" / "exploring.md"


def rows() -> dict[str, tuple[int, int]]:
    """The rows of the table: in how many histories one is found, and the other is exhausted."""
    found = re.findall(r"^\| ([a-z, ]+) \| .* \| (\d+) \| (\d+) \|$", PAGE.read_text("utf-8"), re.M)
    return {name: (int(wrong), int(right)) for name, wrong, right in found}


def test_the_table_has_each_pair() -> None:
    assert [*rows()] == [*PAIRS]


@pytest.mark.parametrize(("name", "pair"), PAIRS.items(), ids=PAIRS)
def test_a_wrong_pipeline_is_found_and_its_right_form_is_exhausted(name: str, pair: Pair) -> None:
    with pytest.raises(Broken) as caught:
        pair.explore(right=False)
    assert (caught.value.number, pair.explore(right=True).histories) == rows()[name]


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_it_is_judged_as_without_merging(pair: Pair) -> None:
    with pytest.raises(Broken) as found:
        pair.explore(right=False)
    with pytest.raises(Broken) as other:
        pair.explore(right=False, merge=False)
    assert str(found.value) == str(other.value)
    pair.explore(right=True, merge=False, surprises=2)
