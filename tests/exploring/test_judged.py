"""Pipelines that are judged without a look inside: half of them are wrong, half are right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ixbackoff import N2, Command, at
from ixbackoff.testing.exploring import ONCE, Broken, Explored, Model, dies, late

from ..support.judged import (
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
