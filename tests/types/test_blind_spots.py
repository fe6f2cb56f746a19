"""The table of docs/limits.md: what each checker does not see, and what helps."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ..support.checkers.typecheckers import CHECKERS, MYPY, PYREFLY, PYRIGHT, TY, ZUBAN, Checker

pytestmark = pytest.mark.slow
HEAD = """from collections.abc import Iterator

from ixbackoff import N0, N1, N2, N3, N16, N17, N18, Backoff, Do, Download, Interpreter, Log
from ixbackoff import Program, Standard, at, attempt, backoff

get = Download("http://localhost/a", "a")
"""
LISTED = """programs = [at(N3).retry(get), at(N2).retry(get)]
programs[0].wait()
named = {"a": at(N3).retry(get), "b": at(N2).retry(get)}
named["a"].wait()
"""
RUNGS = "rungs = [N1, N3]\nat(N3) >> backoff(rungs[0]).program(print)\n"
CLAIMED = "claimed: Backoff[N3] = backoff(N3 if input() else N1)\n"
YIELDED = """def yielded() -> Iterator[Program[N18, N18]]:
    yield at(N17)
"""
MAPPED = "at(N3).do(get).map(lambda none: none.size)\n"
UNHANDLED = "at(N3).retry(get).run(Log.handled_by(print))\n"
EITHER = """def either(rest: Program[N1, N0, None, Log] | Program[N1, N1, None, Log]) -> None:
    program: Program[N2, N0, None, Standard] = at(N2).wait()"""
BOUND, JOINED = f"{EITHER}.bind(lambda _: rest)\n", f"{EITHER} >> rest\n"
STANDING = "at(N3).at(N3)\nat(N0).at(N3)\n"
DEEP = "at({}).backoff().backoff() >> at({})\n"
LOOPED = "looped = at(N3).do(get)\nfor _ in range(5):\n    looped = looped.backoff()\n"
ANSWERED = """@attempt
def answered() -> Do[Download, None]:
    number: int = yield from get
"""
BARE = """@attempt
def bare() -> Do[Download, int]:
    number: int = yield get
    return number
"""
INFERENCE = ("strictListInference", "strictDictionaryInference", "strictSetInference")
STRICT = replace(PYRIGHT, config=("pyrightconfig.json", json.dumps(dict.fromkeys(INFERENCE, True))))
DEFAULT = replace(PYRIGHT, config=("pyrightconfig.json", "{}"))
UNTYPED = replace(ZUBAN, arguments=("check", *ZUBAN.arguments[2:]))


def errors(checker: Checker, text: str, folder: Path) -> int:
    """Return the number of errors in a program."""
    file = folder / "program.py"
    file.write_text(HEAD + text)
    return len(checker.check([file], folder)[file.resolve()])


@pytest.mark.parametrize(
    ("blind", "seeing", "text"),
    [
        pytest.param(DEFAULT, STRICT, LISTED, id="pyright: lists and dicts"),
        pytest.param(DEFAULT, STRICT, RUNGS, id="pyright: lists of rungs"),
        pytest.param(DEFAULT, MYPY, YIELDED, id="pyright: deep rungs inside of another type"),
        pytest.param(MYPY, DEFAULT, CLAIMED, id="mypy: one rung of two"),
        pytest.param(ZUBAN, MYPY, MAPPED, id="zuban: the argument of a lambda"),
        pytest.param(TY, MYPY, UNHANDLED, id="ty: a missing handler"),
        pytest.param(TY, MYPY, BOUND, id="ty: a function that returns one of two programs"),
        pytest.param(ZUBAN, MYPY, STANDING, id="zuban: another rung in at"),
        pytest.param(PYREFLY, MYPY, DEEP.format("N18", "N17"), id="pyrefly: deep starts"),
        pytest.param(PYREFLY, MYPY, "N3.retry(get)\n", id="pyrefly: a step on a rung"),
        pytest.param(UNTYPED, ZUBAN, LOOPED, id="zuban: a loop"),
        pytest.param(PYREFLY, MYPY, ANSWERED, id="pyrefly: the value of yield from"),
    ],
)
def test_a_checker_is_blind_where_another_one_sees(
    blind: Checker, seeing: Checker, text: str, tmp_path: Path
) -> None:
    assert errors(blind, text, tmp_path) == 0
    assert errors(seeing, text, tmp_path) > 0


@pytest.mark.parametrize("checker", CHECKERS, ids=lambda checker: checker.name)
def test_none_sees_a_yield_without_from(checker: Checker, tmp_path: Path) -> None:
    assert errors(checker, BARE, tmp_path) == 0


@pytest.mark.parametrize(
    ("checker", "text"),
    [(TY, JOINED), (ZUBAN, "at(N0) >> at(N3)\n"), (PYREFLY, DEEP.format("N17", "N16"))],
    ids=["ty", "zuban", "pyrefly"],
)
def test_what_helps_lets_the_checker_see(checker: Checker, text: str, tmp_path: Path) -> None:
    assert errors(checker, text, tmp_path) == 1
