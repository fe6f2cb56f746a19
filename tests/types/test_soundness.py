"""Soundness by experiment: what type checkers and the library say of random programs is right.

Integers say what is right (`soundness.arithmetic`, `soundness.machine`); neither knows the library.
Here are some of the programs; `python -m tests.types.soundness 10000` takes more of them.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from ..support.checkers.typecheckers import MYPY, PYRIGHT, Checker
from .soundness.arithmetic import FOREVER
from .soundness.cases import SHAPES, cases
from .soundness.checking import verdicts
from .soundness.forging import Forgery, accepted, fate, forgeries
from .soundness.making import MISTAKES
from .soundness.running import PLAN, Findings, findings

MADE = cases(2000)
CHECKED = MADE[:500]
"""Those that the slow type checkers see: each shape right and wrong, and each mistake."""


@pytest.fixture(scope="module")
def found() -> Findings:
    """What came of all runs."""
    return findings(MADE)


def test_the_programs_are_many_and_mixed() -> None:
    assert len({case.lines for case in MADE}) == len(MADE)
    assert len(SHAPES) > 50
    for shape in SHAPES:
        held = [case for case in CHECKED if case.shape == shape]
        assert any(case.right for case in held), shape
        assert not all(case.right for case in held), shape
    assert {case.mistake for case in CHECKED} == {"", *MISTAKES}
    mistakes = Counter(case.mistake for case in MADE)
    assert all(mistakes[mistake] > 20 for mistake in MISTAKES), mistakes
    starts = Counter(case.piece.start for case in MADE)
    assert sum(starts[rung] for rung in range(15, FOREVER)) > 80
    assert starts[FOREVER] > 80


def test_the_arithmetic_finds_each_mistake_that_was_made() -> None:
    wrong = [str(case) for case in MADE if case.right == bool(case.mistake)]
    assert not wrong, wrong[0]


@pytest.mark.parametrize("checker", [MYPY, PYRIGHT], ids=lambda checker: checker.name)
def test_a_type_checker_is_right_about_every_program(checker: Checker, tmp_path: Path) -> None:
    told = verdicts(checker, CHECKED, tmp_path)
    wrong = [f"{sorted(verdict.codes)}\n{verdict.case}" for verdict in told if not verdict.right]
    assert not wrong, f"{len(wrong)} of {len(CHECKED)}\n{wrong[0]}"


def test_every_run_keeps_the_promises(found: Findings) -> None:
    """A right program runs as the table of meanings says; a wrong one is refused in time.

    No wait is shorter than the one before it, there are at most N, and no effect is tried more
    often than there are rungs.
    """
    assert found.runs > 5 * len(MADE) * 0.8
    assert found.refused > found.late > 0
    assert found.endless > 20
    broken = {promise: told[0] for promise, told in found.broken.items() if promise != PLAN}
    assert not broken, "\n".join(f"{promise}: {told}" for promise, told in broken.items())


def test_no_run_exceeds_its_plan(found: Findings) -> None:
    told = found.broken.get(PLAN, [])
    assert not told, f"{len(told)} runs\n{told[0]}"


TRIED = forgeries()


@pytest.mark.parametrize("checker", [MYPY, PYRIGHT], ids=lambda checker: checker.name)
def test_a_type_checker_accepts_those_forgeries_that_the_page_says(
    checker: Checker, tmp_path: Path
) -> None:
    told = accepted(checker, TRIED, tmp_path)
    seen = {forgery.name for forgery, passed in zip(TRIED, told, strict=True) if passed}
    assert seen == {forgery.name for forgery in TRIED if checker.name in forgery.accepted}


@pytest.mark.parametrize("forgery", TRIED, ids=lambda forgery: forgery.name)
def test_a_forgery_keeps_the_promises_at_run_time(forgery: Forgery) -> None:
    assert fate(forgery) == forgery.refused
