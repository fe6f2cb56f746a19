"""An order of steps by states of one's own: wrong orders are refused by all type checkers."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ..support.checkers.cases import CASES, Known, differences, files, name
from ..support.checkers.typecheckers import CHECKERS, Checker, Report

pytestmark = pytest.mark.slow
BURGER = Path(__file__).parents[2] / "docs" / "burger.py"
KNOWN = (
    Known(
        ("ty",),
        "It takes two chains that end at different states for a chain to either.",
        {
            "reject/a_burger_in_another_order": (
                "(bottom >> patty).bind(lambda height: cheese if height else plain)",
            )
        },
    ),
    Known(
        ("zuban",),
        "The argument of a lambda is Any to it where the method has a variable of its own.",
        {"accept/a_burger": ("assert_type(tall,",)},
    ),
)


@pytest.fixture(scope="module", params=CHECKERS, ids=lambda checker: checker.name)
def checker(request: pytest.FixtureRequest) -> Checker:
    chosen: Checker = request.param
    return chosen


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the module and all cases."""
    made = tmp_path_factory.mktemp("burger")
    shutil.copytree(CASES / "burger", made, dirs_exist_ok=True)
    shutil.copy(BURGER, made)
    return made


@pytest.fixture(scope="module")
def report(checker: Checker, folder: Path) -> Report:
    return checker.check([folder / BURGER.name, *files(folder)], folder)


def test_the_module_is_accepted(report: Report, folder: Path) -> None:
    assert report[folder / BURGER.name] == []


@pytest.mark.parametrize("case", files(CASES / "burger"), ids=name)
def test_case(checker: Checker, report: Report, folder: Path, case: Path) -> None:
    file = folder / case.relative_to(CASES / "burger")
    found = differences(checker, case, report[file], KNOWN)
    assert not found, "\n".join(found)
