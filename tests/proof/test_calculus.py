"""The rules that docs/proof is about are those of the library: random programs come to the same.

Outcome, trace (each command, each wait with its rung and seconds) and tries are compared, under
schedules that fall, Retry-After, Misuse, waits that fail, functions that raise, and without end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from .calculus import Planner, Run, bound
from .comparing import Case, case, difference, modelled, unplanned
from .faults import FAULTS, PLANNER_FAULTS

FEW, MANY = range(1000), range(1000, 21000)


def steps(case: Case) -> Iterator[str]:
    """The steps of a program, and of those that it is joined with."""
    p = case.model
    while p.before is not None:
        yield f"{p.step} that says where it ends" if p.said else p.step
        p = p.before


def test_the_programs_and_their_runs_are_mixed() -> None:
    cases = [case(seed) for seed in FEW]
    seen = Counter(step for one in cases for step in steps(one))
    assert len(seen) == 17
    assert min(seen.values()) > 20, seen
    runs = [modelled(one) for one in cases]
    ends = Counter("well" if isinstance(run.ended, tuple) else run.ended for run in runs)
    for end in (
        "well",
        "NotReady",
        "Throttled",
        "KeyError",
        "Misuse",
        "SleepError",
        "KeyboardInterrupt",
    ):
        assert ends[end] > 5, ends
    waits = Counter(sum(event[0] == "waited" for event in run.trace) for run in runs)
    assert sum(count for number, count in waits.items() if number > 2) > 20
    endless = sum(count for number, count in waits.items() if number > 20)
    assert endless > 5, "few ladders without end went on"


@pytest.mark.parametrize(
    "seeds", [FEW, pytest.param(MANY, marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_the_library_does_what_the_rules_say_and_its_plan_is_the_proven_one(seeds: range) -> None:
    """A plan promises no less than that of the rules; and without functions in binds, the same."""
    runs: list[str] = []
    plans: list[str] = []
    for seed in seeds:
        one = case(seed)
        runs.append(difference(one))
        plans.append("" if one.world.forever else unplanned(one))
    for differences in (list(filter(None, runs)), list(filter(None, plans))):
        assert not differences, f"{len(differences)} of {len(seeds)}\n{differences[0]}"


def test_the_library_knows_the_ends_of_programs_as_the_rules_do() -> None:
    cases = [one for seed in FEW if not (one := case(seed)).world.forever]
    assert {one.real.ends_at for one in cases} == {0, None}
    for one in cases:
        program, model = one.real, one.model
        assert program.start == one.top
        assert program.bound == bound(model)
        assert program.ends_at in (None, bound(model))


def test_enough_faults_are_planted() -> None:
    assert len(FAULTS) >= 10


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_fault_in_the_rules_is_seen(fault: type[Run]) -> None:
    assert any(difference(case(seed), fault) for seed in range(5000))


@pytest.mark.parametrize("fault", PLANNER_FAULTS, ids=lambda fault: fault.__name__)
def test_a_fault_in_the_planner_is_seen(fault: type[Planner]) -> None:
    cases = (case(seed) for seed in FEW)
    assert any(unplanned(one, fault) for one in cases if not one.world.forever)
