"""The table of docs/limits.md: what each checker does not see, and what helps."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache

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


BLIND = {
    "pyright: lists and dicts": (DEFAULT, STRICT, LISTED),
    "pyright: lists of rungs": (DEFAULT, STRICT, RUNGS),
    "pyright: deep rungs inside of another type": (DEFAULT, MYPY, YIELDED),
    "mypy: one rung of two": (MYPY, DEFAULT, CLAIMED),
    "zuban: the argument of a lambda": (ZUBAN, MYPY, MAPPED),
    "ty: a missing handler": (TY, MYPY, UNHANDLED),
    "ty: a function that returns one of two programs": (TY, MYPY, BOUND),
    "zuban: another rung in at": (ZUBAN, MYPY, STANDING),
    "pyrefly: deep starts": (PYREFLY, MYPY, DEEP.format("N18", "N17")),
    "pyrefly: a step on a rung": (PYREFLY, MYPY, "N3.retry(get)\n"),
    "zuban: a loop": (UNTYPED, ZUBAN, LOOPED),
    "pyrefly: the value of yield from": (PYREFLY, MYPY, ANSWERED),
}
"""For each blind spot: who is blind, who sees, and the program."""
HELPED = {
    "ty": (TY, JOINED),
    "zuban": (ZUBAN, "at(N0) >> at(N3)\n"),
    "pyrefly": (PYREFLY, DEEP.format("N17", "N16")),
}
TEXTS = [*(text for *_, text in BLIND.values()), BARE, *(text for _, text in HELPED.values())]


@pytest.fixture(scope="module")
def errors(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Checker, str], int]:
    """The number of errors of a checker in a program: it is started once for all programs."""

    @cache
    def report(checker: Checker) -> dict[str, int]:
        folder = tmp_path_factory.mktemp(checker.name)
        files = {text: folder / f"program_{number}.py" for number, text in enumerate(TEXTS)}
        for text, file in files.items():
            file.write_text(HEAD + text)
        found = checker.check(list(files.values()), folder)
        return {text: len(found[file.resolve()]) for text, file in files.items()}

    return lambda checker, text: report(checker)[text]


@pytest.mark.parametrize("spot", BLIND)
def test_a_checker_is_blind_where_another_one_sees(
    spot: str, errors: Callable[[Checker, str], int]
) -> None:
    blind, seeing, text = BLIND[spot]
    assert errors(blind, text) == 0
    assert errors(seeing, text) > 0


@pytest.mark.parametrize("checker", CHECKERS, ids=lambda checker: checker.name)
def test_none_sees_a_yield_without_from(
    checker: Checker, errors: Callable[[Checker, str], int]
) -> None:
    assert errors(checker, BARE) == 0


@pytest.mark.parametrize("name", HELPED)
def test_what_helps_lets_the_checker_see(name: str, errors: Callable[[Checker, str], int]) -> None:
    checker, text = HELPED[name]
    assert errors(checker, text) == 1
