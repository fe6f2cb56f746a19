"""Classical mistakes are found with the smallest history, and their mended forms hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from ixbackoff import N2, Program, Z, at
from ixbackoff.testing.exploring import Broken, Explored, Model, dies

from ..support.models.pipelines import (
    Bucket,
    Cloud,
    Create,
    Machine,
    Put,
    Shop,
    delete_and_put,
    find_or_create,
    pay,
    replace,
)

shop = Model(Shop, Shop.interpreter, always=Shop.charged_once)
bucket = Model(Bucket, Bucket.interpreter, always=Bucket.is_there)
halves = Model(lambda: Bucket(whole=False), Bucket.interpreter, always=Bucket.is_there)
cloud = Model(Cloud, Cloud.interpreter, always=Cloud.at_most_one)
idempotent = Model(lambda: Cloud(idempotent=True), Cloud.interpreter, always=Cloud.at_most_one)
machine = Model(
    Machine, Machine.interpreter, always=Machine.holds_something, forgets=Machine.power_cut
)
AnyProgram = Program[Any, Z, Any, Any]


def retried(effect: Any) -> AnyProgram:
    return at(N2).retry(effect)


class Mistake(NamedTuple):
    """A mistake: its search, the smallest history that shows it, and the search of what holds."""

    wrong: Callable[..., Explored]
    history: str
    mended: Callable[..., Explored]


MISTAKES = {
    "charge before recording": Mistake(
        lambda **how: shop.explore(retried(pay("42")), **how),
        "1 is done, but answers ServerError",
        lambda: shop.explore(retried(pay("42", "key")), surprises=4),
    ),
    "charge before recording, durably": Mistake(
        lambda **how: shop.explore(at(N2).resume(pay("42")), faults=dies("durably"), **how),
        "1 dies after it, starts durably",
        lambda: shop.explore(at(N2).resume(pay("42", "key")), faults=dies("durably"), surprises=4),
    ),
    "delete before upload": Mistake(
        lambda **how: bucket.explore(retried(delete_and_put("page", "new")), **how),
        "nothing",
        lambda: bucket.explore(retried(Put("page", "new")), surprises=4),
    ),
    "two halves": Mistake(
        lambda **how: halves.explore(retried(Put("page", "new")), **how),
        "0 is done in part (1), answers ServerError",
        lambda: bucket.explore(retried(Put("page", "new")), surprises=4),
    ),
    "create with retry": Mistake(
        lambda **how: cloud.explore(retried(Create("vm")), **how),
        "0 is done, but answers ServerError",
        lambda: cloud.explore(retried(find_or_create("vm")), surprises=4, at_end=Cloud.one),
    ),
    "find, then create, twice": Mistake(
        lambda **how: cloud.explore(*[retried(find_or_create("vm"))] * 2, **how),
        "1 B goes on",
        lambda: idempotent.explore(*[retried(Create("vm"))] * 2, surprises=3, at_end=Cloud.one),
    ),
    "rename before sync": Mistake(
        lambda **how: machine.explore(retried(replace("page", "new", syncs=False)), **how),
        "1 dies after it, starts anew",
        lambda: machine.explore(retried(replace("page", "new", syncs=True)), surprises=4),
    ),
}

each_mistake = pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)


def found(search: Callable[..., Explored], **how: Any) -> Broken:
    with pytest.raises(Broken) as caught:
        search(**how)
    return caught.value


@each_mistake
def test_it_is_found_with_the_smallest_history(mistake: Mistake) -> None:
    assert str(found(mistake.wrong).history) == mistake.history


@each_mistake
def test_the_history_is_printed_in_at_most_eight_lines(mistake: Mistake) -> None:
    reason, *history, again = str(found(mistake.wrong)).splitlines()
    assert 1 <= len(history) <= 8
    assert reason == found(mistake.wrong).reason
    assert again == f"again: explore(..., only={mistake.history!r})"


@each_mistake
def test_the_printed_history_is_replayed(mistake: Mistake) -> None:
    printed = str(found(mistake.wrong))
    assert str(found(mistake.wrong, only=mistake.history)) == printed


@each_mistake
def test_a_second_search_finds_the_same(mistake: Mistake) -> None:
    one, other = found(mistake.wrong), found(mistake.wrong)
    assert (str(one), one.number) == (str(other), other.number)


@each_mistake
def test_the_mended_form_holds(mistake: Mistake) -> None:
    assert mistake.mended().histories > 10
