"""A hedge in a durable run is one command, with one copy."""

from __future__ import annotations

from ixbackoff import N0, at, do
from ixbackoff._meaning.run_defaults import Defaults

from ..support.durable.journals import Memory, durably
from ..support.ways.hedges import Get, slow_after


def test_it_is_recorded_and_replayed() -> None:
    asked: list[Get] = []

    def answer(command: Get) -> str:
        asked.append(command)
        return "page"

    journal = Memory()
    program = at(N0).do(do(Get()).hedged(slow_after(0.001)))
    for _ in range(2):
        assert durably(program, Get.handled_by(answer), Defaults(), journal) == "page"
        journal = Memory(journal.kept)
    assert len(asked) == 1
