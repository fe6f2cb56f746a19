"""What a method's overloads promise is what it takes, and a sentence among them is what is printed.

An overload with an argument of type `Never` can never be called: the name of that argument is what
type checkers say of a program that stands where the method cannot be used.
"""

from __future__ import annotations

import ast
import inspect
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest

import ixbackoff
from ixbackoff import N0, N3, at

from ..support.checkers.typecheckers import MYPY, PYRIGHT, ZUBAN, Checker

PACKAGE = Path(ixbackoff.__file__).parent
AT_THE_END = "no_wait_is_left_at_N0_start_on_a_higher_rung"
WITHOUT_END = "only_retry_resume_retry_with_and_end_leave_FOREVER"
OPEN = "it_is_open_finish_it_with_end_or_retry"
NOT_REPEATABLE = "a_command_in_it_is_not_repeatable"
SENTENCES = {AT_THE_END, WITHOUT_END, OPEN, NOT_REPEATABLE}

Function = ast.FunctionDef | ast.AsyncFunctionDef
Places = list[tuple[str, bool]]
"""The names of parameters, and whether each has a default."""


def named(function: Function, decorator: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == decorator for one in function.decorator_list)


def parameters(function: Function) -> tuple[Places, Places]:
    """The parameters by place and by name, without the sentences."""
    given = function.args
    places = [*given.posonlyargs, *given.args]
    first_default = len(places) - len(given.defaults)
    return (
        [(place.arg, number >= first_default) for number, place in enumerate(places)],
        [
            (keyword.arg, default is not None)
            for keyword, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)
            if not sentence(keyword)
        ],
    )


def sentence(parameter: ast.arg) -> bool:
    return isinstance(parameter.annotation, ast.Name) and parameter.annotation.id == "Never"


def overloaded() -> dict[str, tuple[list[Function], Function]]:
    """Every method with a marked definition: its overloads, and that definition."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        for scope in ast.walk(ast.parse(path.read_text())):
            if not isinstance(scope, ast.ClassDef):
                continue
            overloads: dict[str, list[Function]] = defaultdict(list)
            for function in scope.body:
                if not isinstance(function, Function):
                    continue
                if named(function, "overload"):
                    overloads[function.name].append(function)
                elif named(function, "overloaded"):
                    name = f"{scope.name}.{function.name}"
                    found[name] = (overloads.pop(function.name), function)
    return found


METHODS = overloaded()


def test_the_methods_with_sentences_are_these() -> None:
    said = {
        name: {
            one.arg for overload in overloads for one in overload.args.kwonlyargs if sentence(one)
        }
        for name, (overloads, _) in METHODS.items()
    }
    assert said == {
        "Program.backoff": {AT_THE_END, WITHOUT_END},
        "Program.wait": {AT_THE_END, WITHOUT_END},
        "Program.skip": {AT_THE_END, WITHOUT_END},
        "Program.run": {OPEN},
        "Program.run_async": {OPEN},
        "Attempt.hedged": {NOT_REPEATABLE},
    }


@pytest.mark.parametrize("method", METHODS)
def test_every_overload_takes_what_the_method_takes(method: str) -> None:
    overloads, definition = METHODS[method]
    for overload in overloads:
        assert parameters(overload) == parameters(definition)
        assert isinstance(overload, ast.AsyncFunctionDef) == isinstance(
            definition, ast.AsyncFunctionDef
        )


@pytest.mark.parametrize("method", METHODS)
def test_a_sentence_is_never_an_argument_at_run_time(method: str) -> None:
    owner, _, name = method.rpartition(".")
    function = getattr(getattr(ixbackoff, owner), name)
    assert not SENTENCES & set(inspect.signature(function).parameters)
    assert inspect.getdoc(function)


def test_what_cannot_wait_is_refused_at_run_time_too() -> None:
    for step in ("backoff", "wait", "skip"):
        with pytest.raises(TypeError, match="no wait is left at N0"):
            getattr(at(N0), step)()
        with pytest.raises(TypeError):
            getattr(at(N3), step)(**{AT_THE_END: None})


SAID = {
    "at(N0).backoff()": AT_THE_END,
    "at(N0).backoff(on=OSError)": AT_THE_END,
    "at(N0).wait()": AT_THE_END,
    "at(N3).end().skip()": AT_THE_END,
    "at(FOREVER).backoff()": WITHOUT_END,
    "at(FOREVER).wait()": WITHOUT_END,
    "at(FOREVER).skip()": WITHOUT_END,
    "at(N3).run(interpreter)": OPEN,
    "at(N3).run(interpreter, within=5, stop=None)": OPEN,
    "at(FOREVER).run(interpreter)": OPEN,
    "print(at(N3).run_async(interpreter))": OPEN,
    "do(call(int)).hedged(Hedge())": NOT_REPEATABLE,
}
HEAD = """from ixbackoff import FOREVER, N0, N3, Hedge, Log, at, call, do
interpreter = Log.handled_by(lambda command: None)
"""


@pytest.mark.parametrize("checker", [MYPY, ZUBAN, PYRIGHT], ids=lambda checker: checker.name)
def test_a_sentence_is_what_a_type_checker_says(checker: Checker, tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(HEAD + "\n".join(SAID) + "\n")
    arguments = tuple(one for one in checker.arguments if one != "--outputjson")
    wrong = tmp_path / "wrong.py"
    printed = replace(checker, arguments=arguments).run([wrong], tmp_path).stdout
    errors = [line for line in printed.splitlines() if "error" in line and ".py:" in line]
    assert len(errors) == len(SAID), printed
    for error, said in zip(errors, SAID.values(), strict=True):
        assert f'"{said}"' in error
