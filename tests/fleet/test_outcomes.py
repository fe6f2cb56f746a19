"""The outcome of a simulation, second by second."""

from __future__ import annotations

from typing import Any

import pytest

from ixbackoff import N0, at
from ixbackoff.fleet import Outcome, Second

from ..support.fleets.scripted import fleet
from ..support.ways.programs import Ask


def second(well: int) -> Second:
    return Second(0, 0, 0, 0, well, 0, 0.0, 0.0)


def recovered(wells: list[int], **how: Any) -> float | None:
    outcome = Outcome(tuple(map(second, wells)), 1, 0, 0.0, ())
    return outcome.recovered_after(**how)


def test_recovered_after() -> None:
    wells = [10] * 10 + [0] * 10 + [2, 4, 6, 8, 10, 10, 10, 9, 11, 10]
    assert recovered(wells, outage_end=20, steady=10, span=1) == 4.0
    assert recovered(wells, outage_end=20, steady=10, share=0.5, span=1) == 2.0
    assert recovered(wells, outage_end=19.5, steady=10, span=1) == 4.5
    assert recovered(wells, outage_end=20, steady=10, span=2) == 3.0
    assert recovered([*wells, 3], outage_end=20, steady=10, span=1) is None
    assert recovered(wells, outage_end=20, steady=100) is None
    assert recovered(wells, outage_end=0, steady=0) == 0.0
    assert recovered(wells, outage_end=28, steady=10) is None  # too few to see it
    assert recovered(wells, outage_end=25, steady=10) == 0.0


@pytest.mark.parametrize(
    "how", [{"outage_end": 31}, {"outage_end": -1}, {"outage_end": 3, "span": 0}]
)
def test_recovered_after_an_end_that_is_none(how: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="outage_end="):
        recovered([1] * 30, steady=1, **how)


def test_seconds_are_all_there() -> None:
    outcome = fleet(at(N0).retry(Ask("a")), [(0.5, 1)], clients=3, seconds=4.5)
    assert [each.well for each in outcome.seconds] == [3, 0, 0, 0, 0]
    assert outcome.seconds[0].latency == 0.5
    assert outcome.total(lambda each: each.asked) == 3


def test_a_service_is_watched_second_by_second() -> None:
    watched: list[tuple[int, Second]] = []
    outcome = fleet(
        at(N0).retry(Ask("a")),
        [(0.5, 1)],
        seconds=4.5,
        watch=lambda number, counted: watched.append((number, counted)),
    )
    assert watched == list(enumerate(outcome.seconds))


def test_it_is_printed_in_one_line() -> None:
    outcome = fleet(at(N0).retry(Ask("a")), [(0.5, 1)], clients=3, seconds=4.5, trace=True)
    assert f"{outcome}" == repr(outcome)
    assert str(outcome) == (
        "<Outcome: 3 runs succeeded (median 0.5 s, p99 0.5 s), 0 gave up; 3 clients, 5 s, "
        f"{outcome.events} events, the last run ended after 0.5 s, 3 commands in the trace>"
    )
    assert "<Outcome: 0 runs succeeded, 0 gave up; 1 clients," in str(Outcome((), 1, 0, 0.0, ()))


def test_a_line_of_its_trace_names_the_client() -> None:
    outcome = fleet(at(N0).retry(Ask("a")), [(0.5, 1)], clients=2, seconds=4.5, trace=True)
    assert [str(one) for one in outcome.trace] == [
        f"     0.000  client {number}  Ask(name='a') -> 1" for number in (0, 1)
    ]
    assert str(outcome.trace[0]._replace(client=None)) == "     0.000  Ask(name='a') -> 1"
