"""Pipelines that are judged without a look inside: half of them are wrong, half are right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ixbackoff import N0, N1, N2, Command, NotReady, at
from ixbackoff.testing.exploring import ONCE, Broken, Explored, Model, dies, late, slow

from ..support.models.judged import (
    Bank,
    Counter,
    Hall,
    Leased,
    Queue,
    Store,
    Transfer,
    acknowledge_first,
    count_blindly,
    count_by_swapping,
    seats,
    store,
    transfer_in_two,
    work_first,
)
from ..support.models.subtle import (
    Card,
    Hotel,
    Leases,
    Pages,
    Pay,
    Reserve,
    Seats,
    book,
    charge,
    charge_both,
    make,
    sell,
    write,
)


def counted(effect: Any) -> Explored:
    program = at(N2).retry(effect)
    model = Model(Counter, Counter.interpreter)
    return model.explore(program, program, at_end=Counter.counts_all, may_raise=Exception)


def queued(effect: Any) -> Explored:
    model = Model(Queue, Queue.interpreter)
    return model.explore(at(N2).retry(effect), at_end=Queue.done_once, again=True, surprises=3)


def paid(effect: Any) -> Explored:
    model = Model(Bank, Bank.interpreter)
    faults = (*ONCE, *dies("for good"))
    return model.explore(
        at(N2).retry(effect), at_end=Bank.nothing_is_lost, faults=faults, surprises=3
    )


def seated(effect: Any) -> Explored:
    model = Model(Hall, Hall.interpreter, always=Hall.one_seat)
    return model.explore(at(N2).retry(effect), surprises=3)


def leased(*effects: Any) -> Explored:
    model = Model(Leased, Leased.interpreter, always=Leased.newest_stays)
    programs = [at(N2).resume(effect) for effect in effects]
    return model.explore(
        *programs, faults={Store: [late()], Command: dies()}, may_raise=KeyError, surprises=3
    )


def sold(twice: bool) -> Explored:
    model = Model(Seats, Seats.interpreter, always=Seats.adds_up, changes=[Seats.some_are_added])
    programs = [at(N2).retry(sell(buyer, twice)) for buyer in "ab"]
    return model.explore(*programs, may_raise=NotReady)


def charged(key: str | None) -> Explored:
    model = Model(Card, Card.interpreter, always=Card.charged_once)
    return model.explore(at(N2).retry(charge(key)), faults=[*ONCE, slow(30)])


def charged_twice(keys: bool) -> Explored:
    model = Model(Card, Card.interpreter, always=Card.one_charge_is_repeated)
    return model.explore(at(N0).do(charge_both(keys)), faults=dies("durably"))


def booked(releases: bool) -> Explored:
    model = Model(Hotel, Hotel.interpreter)
    slowly = (slow(9), slow(2), slow(1))
    faults = {Reserve: slowly, Pay: slowly}
    return model.explore(
        at(N1).retry(book(releases)),
        at_end=Hotel.nothing_is_left_reserved,
        faults=faults,
        within=5,
        may_raise=TimeoutError,
    )


def made(own: bool) -> Explored:
    model = Model(Pages, Pages.interpreter, always=Pages.only_its_owner_removes)
    programs = [at(N1).retry(make(owner, own)) for owner in "ab"]
    return model.explore(*programs)


def written(fenced: bool) -> Explored:
    model = Model(
        Leases,
        Leases.interpreter,
        always=Leases.only_the_holder_writes,
        changes=[Leases.it_runs_out],
    )
    programs = [at(N1).retry(write(holder, fenced)) for holder in "ab"]
    return model.explore(*programs, faults=(), surprises=3, may_raise=NotReady)


JUDGED: dict[str, tuple[Callable[[], Explored], int | None]] = {
    "read and write a counter": (lambda: counted(count_blindly()), 1),
    "read and swap a counter": (lambda: counted(count_by_swapping()), None),
    "acknowledge, then work": (lambda: queued(acknowledge_first()), 1),
    "work, then acknowledge": (lambda: queued(work_first(by_name=False)), 1),
    "work by name, then acknowledge": (lambda: queued(work_first(by_name=True)), None),
    "transfer in two steps": (lambda: paid(transfer_in_two()), 1),
    "transfer in one step": (lambda: paid(Transfer(1)), None),
    "look for a seat, then sit": (lambda: seated(seats(careful=False)), 1),
    "sit if there is a seat": (lambda: seated(seats(careful=True)), None),
    "read seats twice, and sell": (lambda: sold(twice=True), 1),
    "read seats once, and sell": (lambda: sold(twice=False), None),
    "charge within a limit": (lambda: charged(None), 1),
    "charge within a limit, by key": (lambda: charged("key"), None),
    "charge two cards durably": (lambda: charged_twice(keys=False), 1),
    "charge two cards durably, by key": (lambda: charged_twice(keys=True), None),
    "reserve and pay before a deadline": (lambda: booked(releases=False), 1),
    "reserve, and pay or release": (lambda: booked(releases=True), None),
    "make a page, or remove it": (lambda: made(own=False), 0),
    "make a page, or remove one's own": (lambda: made(own=True), None),
    "write while a lease lasts": (lambda: written(fenced=False), 2),
    "write with the number of the lease": (lambda: written(fenced=True), None),
    "store without a fence": (lambda: leased(store("1", False), store("2", False)), 1),
    "store with a fence": (lambda: leased(store("1", True), store("2", True)), None),
}
"""By its name, the search of a pipeline, and how few surprises show that it is wrong."""


@pytest.mark.parametrize(("search", "surprises"), JUDGED.values(), ids=JUDGED)
def test_a_pipeline_is_judged_rightly(
    search: Callable[[], Explored], surprises: int | None
) -> None:
    if surprises is None:
        assert search().histories > 10
        return
    with pytest.raises(Broken) as caught:
        search()
    assert len(caught.value.history) == surprises
    assert len(str(caught.value).splitlines()) <= 16
