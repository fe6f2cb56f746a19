"""Every file in `typecheck_cases/` is accepted, or rejected on its marked lines, by all checkers.

The differences between mypy and others that are known stand in `KNOWN`.
"""

from __future__ import annotations

import ast
import re
import runpy
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ..support.checkers.cases import CASES, Known, differences, files, known, marked, name
from ..support.checkers.typecheckers import (
    CHECKERS,
    MYPY,
    PYREFLY,
    PYRIGHT,
    ZUBAN,
    Checker,
    Report,
    StoppedEarly,
)

KNOWN = (
    Known(
        ("pyright", "pyrefly"),
        "They cannot tell N19 from N20 in what is assigned, passed on, or returned by a function.",
        {
            "reject/forging_with_a_conditional_rung": ("deepest: ", "return at(deep)"),
            "reject/forging_with_a_generic_function": ("same(at(N20)",),
            "reject/going_up_through_a_variable": ("lower: ",),
            "reject/going_up_with_bind": ("at(N20).",),
            "reject/going_up_with_or_bind": ("at(N20).",),
        },
    ),
    Known(
        ("pyrefly",),
        "It cannot tell the rungs from N18 on apart anywhere: the innermost ones are unknown.",
        {
            "accept/a_function_of_any_rung": (
                "assert_type(wait_twice(at(N20",
                "assert_type(wait_twice(wait_twice(",
            ),
            "accept/the_deepest_ladder_waits_twenty_times": (
                "assert_type(at(N20)",
                "assert_type(upper,",
            ),
            "reject/forging_with_a_conditional_rung": ("at(N20 if",),
            "reject/forging_with_variance": ("lowest: ",),
            "reject/going_up_through_a_variable": ("deep: ",),
            "reject/going_up_with_or": ("at(N20).wait() |", "at(N19) |"),
            "reject/going_up_with_rshift": ("at(N20).wait() >>", "at(N19) >>"),
        },
    ),
    Known(
        ("pyrefly",),
        "It does not know what `yield from` answers, unless it is from a generator itself.",
        {
            "accept/a_command_says_what_it_answers": ("assert_type(",),
            "accept/an_attempt_in_do_notation": ("assert_type(etag,",),
            "reject/a_value_of_the_wrong_type": ("return (yield from", "number: int = yield"),
        },
    ),
    Known(
        ("pyright", "ty", "pyrefly"),
        "A bare generic in an annotation is an error to `mypy --strict` and zuban only.",
        {
            "reject/forging_with_a_bare_succ": ("def of_a_bare", "bare: ", "deeper: "),
            "reject/what_is_no_rung": ("missing: ",),
        },
    ),
    Known(
        ("pyright", "ty", "zuban"),
        "A method taken from a bare generic class has lost the class's variables.",
        {"reject/forging_with_a_method_of_the_class": ("Program.__",)},
    ),
    Known(
        ("ty", "pyrefly"),
        "They do not compare a generic function with what a protocol's `__call__` promises, "
        "nor look into a lambda that is passed to a generic function.",
        {
            "reject/a_wrapper_that_answers_otherwise": (
                "tags.around(none)",
                "tags.around(number)",
                "tags.around(late)",
                "tags.around(unawaited)",
                "tags.around(awaited_by_nobody)",
            ),
            "reject/forging_with_a_protocol": ("starts: ",),
            "reject/going_up_in_a_list": ("reduce(",),
        },
    ),
    Known(
        ("ty",),
        "It does not look into a lambda that is passed for a protocol's generic `__call__`.",
        {"reject/a_wrapper_that_answers_otherwise": ("tags.around(lambda",)},
    ),
    Known(
        ("pyrefly",),
        "It does not compare the parameters of a generic function with a protocol's `__call__`.",
        {"reject/a_wrapper_that_answers_otherwise": ("tags.around(alone)", "tags.around(swapped)")},
    ),
    Known(
        ("ty",),
        "It does not compare a generic function with a `Callable` that is narrower.",
        {"reject/forging_with_a_generic_function": ("rename",)},
    ),
    Known(
        ("zuban",),
        "The argument of a lambda is Any to it where the method has a variable of its own.",
        {
            "reject/a_value_of_the_wrong_type": (
                "at(N3).do(GetETag()).map(lambda",
                "at(N3).do(Copy(",
            )
        },
    ),
    Known(
        ("zuban",),
        "It does not compare a rung that is passed on with the one where a program stands.",
        {
            "reject/a_program_that_stands_elsewhere": (
                "at(N3).at(",
                "at(N2).",
                "at(N3).retry",
                "at(FOREVER)",
                "at(N0)",
            )
        },
    ),
    Known(
        ("zuban",),
        "A variable that is one of two rungs passes for the one that is wanted.",
        {"reject/forging_with_a_generic_function": ("return at(either)",)},
    ),
    Known(
        ("pyright", "ty", "zuban", "pyrefly"),
        "They see what mypy does not: two rungs in a conditional.",
        {"accept/only_the_run_time_check_sees_these": ("return N3 if", "retrying: ")},
    ),
    Known(
        ("pyright",),
        "A dict of two rungs is one of `type[Succ[Unknown]]` to it.",
        {"reject/forging_with_a_conditional_rung": ("at({", "looked_up: ")},
    ),
    Known(
        ("ty", "pyrefly"),
        "They see what mypy does not: `__init_subclass__` beside a metaclass.",
        {"accept/only_the_run_time_check_sees_these": ("class Number(",)},
    ),
    Known(
        ("pyrefly",),
        "It asks a `NewType` for the keyword of `__init_subclass__`.",
        {"reject/what_is_no_rung": ("Other = NewType",)},
    ),
    Known(
        ("zuban",),
        "A `NewType` of all rungs passes for a rung.",
        {"reject/what_is_no_rung": ("at(Other)",)},
    ),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the checkers work and keep their caches."""
    return tmp_path_factory.mktemp("checkers")


@pytest.fixture(scope="module", params=CHECKERS, ids=lambda checker: checker.name)
def checker(request: pytest.FixtureRequest) -> Checker:
    chosen: Checker = request.param
    return chosen


@pytest.fixture(scope="module")
def report(checker: Checker, folder: Path) -> Report:
    return checker.check(files(CASES), folder)


@pytest.mark.parametrize("file", files(CASES), ids=name)
def test_case(checker: Checker, report: Report, file: Path) -> None:
    found = differences(checker, file, report[file], KNOWN)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("file", files(CASES), ids=name)
def test_case_reads_well(file: Path) -> None:
    text = file.read_text()
    assert ast.get_docstring(ast.parse(text)), "say in plain words what the case shows"
    assert bool(marked(file)) == (file.parent.name == "reject")
    # `schedules` is the address of the published schedules
    assert not re.search(r"\bcast\b|type: ignore|from ixbackoff\.(?!schedules import)", text)


def test_names_are_unique() -> None:
    twice = [stem for stem, n in Counter(file.stem for file in files(CASES)).items() if n > 1]
    assert not twice, f"mypy stops at a module name that is there twice: {twice}"


AT_RUN_TIME = runpy.run_path(str(CASES / "accept" / "only_the_run_time_check_sees_these.py"))


@pytest.mark.parametrize(
    "case", [name for name in AT_RUN_TIME if name.startswith(("a_", "an_", "the_", "two_"))]
)
def test_run_time_check(case: str) -> None:
    function: Callable[[], None] = AT_RUN_TIME[case]
    with pytest.raises(TypeError, match=r"N\d|rung|@attempt|awaited_by|handled_as_in|metaclass"):
        function()


def planted(folder: Path, **cases: str) -> list[Path]:
    """Cases of a test of the tests."""
    made = []
    for case, text in cases.items():
        kind, _, stem = case.partition("_")
        (folder / kind).mkdir(exist_ok=True)
        made.append(folder / kind / f"{stem}.py")
        made[-1].write_text(text)
    return made


def test_an_unmarked_error_and_a_mark_without_error_are_seen(
    checker: Checker, folder: Path, tmp_path: Path
) -> None:
    unmarked, mistaken, right = planted(
        tmp_path,
        accept_unmarked="from ixbackoff import N0, at\n\nat(N0).wait()\n",
        reject_mistaken="from ixbackoff import N1, at\n\nat(N1).wait()  # E: [misc]\n",
        reject_right="from ixbackoff import N0, at\n\nat(N0).wait()  # E: [call-arg]\n",
    )
    report = checker.check([unmarked, mistaken, right], folder)
    (told,) = differences(checker, unmarked, report[unmarked])
    assert told.startswith("accept/unmarked, line 3: not marked")
    (told,) = differences(checker, mistaken, report[mistaken])
    assert told.startswith("reject/mistaken, line 3: missed")
    assert not differences(checker, right, report[right])


def test_a_wrong_code_is_seen(folder: Path, tmp_path: Path) -> None:
    (file,) = planted(
        tmp_path, reject_code="from ixbackoff import N0, at\n\nat(N0).wait()  # E: [arg-type]\n"
    )
    missed, surplus = differences(MYPY, file, MYPY.check([file], folder)[file])
    assert "missed [arg-type]" in missed
    assert "not marked [call-arg]" in surplus


def test_a_syntax_error_is_seen(checker: Checker, folder: Path, tmp_path: Path) -> None:
    broken, other = planted(tmp_path, accept_broken="def f(:\n", accept_other="number = 1\n")
    if checker is MYPY:
        with pytest.raises(StoppedEarly, match="exit status 2"):
            checker.check([broken, other], folder)
    else:
        report = checker.check([broken, other], folder)
        assert differences(checker, broken, report[broken])


def test_a_module_name_that_is_there_twice_is_seen(folder: Path, tmp_path: Path) -> None:
    twice = planted(tmp_path, accept_same="number = 1\n", reject_same="number = 2\n")
    with pytest.raises(StoppedEarly, match="exit status 2"):
        MYPY.check(twice, folder)


def test_a_checker_that_reports_nothing_is_seen(folder: Path, tmp_path: Path) -> None:
    (file,) = planted(tmp_path, accept_fine="number = 1\n")
    for silent in (
        replace(PYREFLY, config=("pyrefly.toml", 'preset = "off"')),
        replace(ZUBAN, arguments=("--version",)),
        replace(MYPY, arguments=("--version",)),
    ):
        with pytest.raises(StoppedEarly):
            silent.check([file], folder)


@pytest.mark.parametrize(
    "line",
    ["at(N0)  # E", "at(N0)  # E: misc", "at(N0)  # E: [misc], [arg-type]", "at(N0) # E: [misc]"],
)
def test_a_mark_that_is_written_wrongly_is_seen(line: str, tmp_path: Path) -> None:
    (file,) = planted(tmp_path, reject_mark=f"{line}\n")
    with pytest.raises(ValueError, match="write the mark as"):
        marked(file)


def test_a_known_difference_that_disappeared_is_seen() -> None:
    file = CASES / "reject" / "forging_with_a_bare_succ.py"
    as_mypy = marked(file)
    told = differences(PYRIGHT, file, as_mypy, KNOWN)
    assert len(told) == len(known(PYRIGHT, file, KNOWN)) > 0
    assert all("as mypy sees it: strike it from what is known" in text for text in told)


def test_every_known_difference_is_of_a_line_that_exists() -> None:
    for one in KNOWN:
        for case, beginnings in one.lines.items():
            lines = (CASES / f"{case}.py").read_text().splitlines()
            for beginning in beginnings:
                assert any(line.strip().startswith(beginning) for line in lines), (case, beginning)
