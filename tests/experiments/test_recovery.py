"""The time until a client notices the end of an outage: simulated, and by the closed form."""

from __future__ import annotations

import re
from itertools import accumulate
from math import inf, isclose, isnan
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from benchmarks.experiments.__main__ import main as experiments
from benchmarks.experiments.recovery import Formula, recovered, recovery
from ixbackoff.schedules.published import thain

pytestmark = pytest.mark.slow

LONG = 2000.0  # seconds that are simulated, at most
PAGE = Path(__file__).parent.parent.parent / "docs" / "recovery.md"
TOP = 20  # waits of a ladder


@st.composite
def formulas(draw: st.DrawFn, spread: float = 1.0) -> Formula:
    timeout = draw(st.floats(0.01, 10))
    maximum = draw(st.just(inf) | st.floats(0.5, 100).map(lambda times: times * timeout))
    return Formula(timeout, draw(st.floats(1.05, 4)), spread, maximum)


def close(one: float, other: float) -> bool:
    return isclose(one, other, rel_tol=1e-9)


@given(formulas())
def test_the_closed_form_is_the_sum_of_the_waits(formula: Formula) -> None:
    waits = [min(formula.timeout * formula.factor**k, formula.maximum) for k in range(TOP)]
    tries = [0.0, *accumulate(waits)]
    assert all(close(formula.tried(k), when) for k, when in enumerate(tries))
    assert all(map(close, formula.schedule.preview(TOP), waits))


@settings(max_examples=50, deadline=None)
@given(formulas(), st.integers(0, 12), st.floats(0.001, 0.999))
def test_a_simulated_outage_is_noticed_when_the_closed_form_says(
    formula: Formula, k: int, part: float
) -> None:
    before, after = formula.tried(k), formula.tried(k + 1)
    assume(after < LONG)
    outage = before + part * (after - before)
    assert close(formula.noticed(outage), after)
    [noticed] = recovered(outage, formula).noticed
    assert close(noticed, after)
    assert noticed <= formula.bound(outage) * (1 + 1e-9)
    assert noticed <= (formula.factor * outage + formula.timeout) * (1 + 1e-9)
    assert noticed <= outage + formula.maximum * (1 + 1e-9)


@given(st.integers(1, 11))
def test_a_try_at_the_very_end_is_answered(k: int) -> None:
    outage = 2.0**k - 1
    assert recovered(outage, Formula()).noticed == (outage,)
    assert Formula().noticed(outage) == outage


@given(formulas(), st.integers(1, TOP - 1))
def test_the_bound_of_waits_without_chance_is_sharp(formula: Formula, k: int) -> None:
    late, bound = formula.tried(k + 1), formula.bound(formula.tried(k))
    assert late <= bound * (1 + 1e-9)
    if formula.maximum == inf or formula.growing <= k:
        assert close(late, bound)  # of an outage that is over just after the k-th try


@given(formulas(), st.floats(1, 3), st.integers(1, TOP - 1))
def test_the_bound_with_chance_is_where_only_the_last_wait_is_long(
    formula: Formula, spread: float, k: int
) -> None:
    formula = formula._replace(spread=spread, maximum=inf)
    last = spread * formula.timeout * formula.factor**k
    assert close(formula.tried(k) + last, formula.bound(formula.tried(k)))


@settings(max_examples=50, deadline=None)
@given(formulas(), st.floats(1, 3), st.integers(0, 9), st.floats(0.01, 1), st.integers(0, 99))
def test_no_client_notices_later_than_the_bound(
    formula: Formula, spread: float, k: int, part: float, seed: int
) -> None:
    formula = formula._replace(spread=spread)
    outage = formula.tried(k) + part * (formula.tried(k + 1) - formula.tried(k))
    assume(outage < LONG)
    met = recovered(outage, formula, clients=20, seed=seed)
    assert len(met.noticed) + met.gave_up == 20
    assert not met.gave_up  # waits with an R above 1 are never shorter than those without
    assert all(outage <= noticed <= formula.bound(outage) * (1 + 1e-9) for noticed in met.noticed)


def test_with_r_the_bound_without_it_is_passed() -> None:
    [compared] = recovery([600.0])
    assert compared.plain.last <= Formula().bound(600.0) == 1201.0
    assert compared.spread.last > 1201.0
    assert compared.capped.last <= 660.0


def test_it_is_the_published_schedule() -> None:
    ours, published = Formula(0.01, 2.0, 2.0, 1.0).schedule, thain(timeout=0.01, maximum=1.0)
    for seed in range(5):
        assert ours.preview(TOP, seed=seed) == published.preview(TOP, seed=seed)


def test_a_ladder_that_ends_before_the_outage_gives_up() -> None:
    met = recovered(20.0, Formula(0.01, 2.0, 2.0, 1.0), clients=5)
    assert (met.noticed, met.gave_up) == ((), 5)
    assert isnan(met.median)
    assert isnan(met.last)


def test_the_closed_form_of_a_long_outage_takes_no_time() -> None:
    formula = Formula(timeout=0.001, maximum=0.001)
    assert 1e9 <= formula.noticed(1e9) <= 1e9 + 0.002
    assert Formula(timeout=2.0, factor=1.0).noticed(5.0) == 6.0


def test_the_page_has_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert experiments(["recovery"]) == 0
    [block] = re.findall(
        r"^```text printed by the first\n(.*?)^```$", PAGE.read_text(), re.M | re.S
    )
    assert capsys.readouterr().out == block


def test_what_nobody_noticed_is_never(capsys: pytest.CaptureFixture[str]) -> None:
    words = "--timeout 0.01 --maximum 1 --outage 20 --outage 5 --clients 7"
    assert experiments(["recovery", *words.split()]) == 0
    first, second = capsys.readouterr().out.splitlines()[2:]
    assert first.split()[-4:] == ["never", "never", "21.0", "7"]
    assert second.endswith("      0")
    assert "never" not in second


def test_it_is_drawn(tmp_path: Path) -> None:
    words = ["recovery", "--outage", "3", "--clients", "2", "--picture", str(tmp_path / "new")]
    assert experiments(words) == 0
    files = sorted((tmp_path / "new").iterdir())
    assert [file.name for file in files] == ["recovery.png", "recovery.svg"]
    assert "noticed after, in lengths of the outage" in files[1].read_text()


@pytest.mark.parametrize(
    "words",
    [
        ["--outage", "0"],
        ["--outage", "nan"],
        ["--clients", "0"],
        ["--factor", "1"],
        ["--timeout", "-1"],
        ["--maximum", "x"],
        ["--seed", "1.5"],
        ["more"],
    ],
)
def test_a_wrong_command_is_one_line(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        experiments(["recovery", *words])
    assert ended.value.code == 2
    out, err = capsys.readouterr()
    assert not out
    assert len(err.splitlines()) == 1


def test_a_folder_that_cannot_be_used_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    words = ["recovery", "--outage", "1", "--clients", "1", "--picture", str(tmp_path / "file")]
    assert experiments(words) == 2
    assert capsys.readouterr().err == f"{tmp_path / 'file'} cannot be used: File exists.\n"
