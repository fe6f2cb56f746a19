"""Histories that hypothesis draws and shrinks."""

from __future__ import annotations

import pytest
from hypothesis import find, given, settings

from ixbackoff import N2, at
from ixbackoff.testing.exploring import Broken, Drawn, Model, histories

from ..support.models.pipelines import Cloud, Shop, find_or_create, pay

shop = Model(Shop, Shop.interpreter, always=Shop.charged_once)
cloud = Model(Cloud, Cloud.interpreter, always=Cloud.at_most_one)
once = at(N2).retry(pay("42", "key"))
twice = [at(N2).retry(find_or_create("vm"))] * 2


@given(histories())
def test_a_mended_pipeline_holds_in_every_drawn_history(history: Drawn) -> None:
    shop.explore(once, only=history)


def is_broken(history: Drawn) -> bool:
    try:
        cloud.explore(*twice, only=history)
    except Broken:
        return True
    return False


def test_a_drawn_history_shrinks_to_the_smallest() -> None:
    smallest = find(histories(), is_broken, settings=settings(max_examples=2000))
    with pytest.raises(Broken) as caught:
        cloud.explore(*twice, only=smallest)
    assert len(caught.value.history) == 1


@given(histories(surprises=4))
def test_a_drawn_history_that_is_broken_is_printed_as_one_to_replay(history: Drawn) -> None:
    if is_broken(history):
        with pytest.raises(Broken) as drawn:
            cloud.explore(*twice, only=history)
        with pytest.raises(Broken) as replayed:
            cloud.explore(*twice, only=str(drawn.value.history))
        assert str(replayed.value) == str(drawn.value)
