"""Single messages of the five checkers, and what is never said of others."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from ixbackoff import N0, N1, N2, N3, N4, N5, N6, N7, N8, N20, Download, Program, at
from ixbackoff._door.diagnosing.explained_errors import UNMISTAKABLE, explanations
from ixbackoff._door.diagnosing.explanation import Explanation
from ixbackoff._door.diagnosing.ladder_drawing import Sketch, drawing
from ixbackoff._door.mistake_pages import pages
from ixbackoff._door.reading.printed import depth, with_names
from ixbackoff._door.reading.wordings import parse
from ixbackoff._words import wrong_arguments

from ..support.checkers.checked import ROOT

OF_EACH = [
    ('Unsupported operand types for & ("NormalJitter" and "int")', "not-a-schedule"),
    (
        'Unsupported operand types for >> ("Program[Succ[Z], Succ[Z], None, Never]" and '
        '"Program[Succ[Succ[Z]], Z, None, Delay]")',
        "goes-up",
    ),
    (
        'Operator ">>" not supported for types "Program[N3, N2, None, Download | Delay]" and '
        '"Program[N1, Z, None, Delay]"',
        "jumps-down",
    ),
    (
        "Argument to bound method `Program.backoff` is incorrect: Expected "
        "`Program[Succ[Z], Succ[Unknown], None, Delay]`, found `Program[Succ[Z], Z, None, Delay]`",
        "no-wait-left",
    ),
    (
        "Argument `Program[Succ[Z], Succ[Z], None, Download]` is not assignable to parameter "
        "`self` with type `Program[Succ[Z], Z, @_, @_]` in function "
        "`ixbackoff._writing.programs.Program.run`",
        "open-program",
    ),
    (
        "Argument to function `at` is incorrect: Expected `Rung[Unknown]`, found `Literal[3]`",
        "not-a-rung",
    ),
    (
        'Argument "on" to "backoff" has incompatible type "int"; expected "type[Exception] | '
        "Callable[[Exception], bool | float | timedelta] | Sequence[type[Exception] | "
        'Callable[[Exception], bool | float | timedelta]]"',
        "not-a-failure",
    ),
    (
        "Argument to function `backoff` is incorrect: Expected `type[Exception] | ((Exception, /) "
        "-> bool | float | timedelta) | Sequence[type[Exception] | ((Exception, /) -> bool | float "
        "| timedelta)]`, found `Literal[503]`",
        "not-a-failure",
    ),
    (
        'Argument of type "Literal[503]" cannot be assigned to parameter "on" of type "On" in '
        'function "backoff"',
        "not-a-failure",
    ),
    (
        "No matching overload found for function `ixbackoff._writing.programs.Program.run` called "
        "with arguments: (Interpreter[Delay], within=Literal['5'])",
        "not-seconds",
    ),
    (
        "No matching overload found for function `ixbackoff._writing.programs.Program.run` called "
        "with arguments: (Interpreter[Delay], schedule=None, within=Literal['5'])",
        "not-seconds",
    ),
    (  # Call[Any] answers Call[int], and only Reserve is missing
        'Argument 1 to "run" of "Program" has incompatible type "Interpreter[Delay | Call[Any]]"; '
        'expected "Interpreter[Call[int] | Delay | Reserve]"',
        "no-handler",
    ),
    (
        'Value of type variable "T" of "stream" of "Backoff" cannot be "int"',
        "wrong-arguments",
    ),
    (
        'Argument of type "() -> int" cannot be assigned to parameter "function" of type '
        '"(**P@stream) -> T@stream" in function "stream"',
        "wrong-arguments",
    ),
    (
        "Argument to bound method `Backoff.stream` is incorrect: Argument type `int` does not "
        "satisfy upper bound `Iterator[object] | AsyncIterator[object]` of type variable `T`",
        "wrong-arguments",
    ),
]


def test_the_sentences_of_the_overloads_are_recognized() -> None:
    """Those that `Program` has under TYPE_CHECKING: arguments of type Never."""
    source = (ROOT / "ixbackoff" / "_writing" / "programs.py").read_text()
    sentences = set(re.findall(r"\b(\w+_\w+_\w+_\w+): Never", source))
    assert len(sentences) >= 3
    for sentence in sentences:
        message = f'Missing named argument "{sentence}" for "run" of "Program"'
        assert UNMISTAKABLE.search(message), sentence
        assert explained(message), sentence


def explained(message: str) -> Explanation | None:
    """The first explanation of a message."""
    return next((explanation for _, explanation in explanations(message)), None)


@pytest.mark.parametrize(("message", "code"), OF_EACH)
def test_a_message_of_each_checker_is_explained(message: str, code: str) -> None:
    said = explained(message)
    assert said is not None
    assert said.code == code


def test_the_advice_shows_no_secret() -> None:
    assert "@" not in wrong_arguments.example(Download.__init__)


def test_only_live_async_has_a_handler_of_coroutine_functions() -> None:
    said = explained(
        'Argument 1 to "run_async" of "Program" has incompatible type "Interpreter[Delay]"; '
        'expected "Interpreter[CallAsync[int] | Delay] | AsyncInterpreter[CallAsync[int] | Delay]"'
    )
    assert said is not None
    assert said.fix == "Write .run_async(live_async()), which has a handler of CallAsync."


@pytest.mark.parametrize(
    "many", ["Too many arguments for", 'Missing positional argument "f" in call to']
)
def test_a_decorator_takes_one_function(many: str) -> None:
    said = explained(f'{many} "__call__" of "Backoff"')
    assert said is not None
    assert said.sentence == "backoff(N3)(...) takes one function."


OF_OTHERS = [
    'Incompatible types in assignment (expression has type "str", variable has type "int")',
    'Argument 1 to "get" has incompatible type "int"; expected "str"',
    'Argument "timeout" to "get" has incompatible type "str"; expected "float | None"',
    'Unsupported operand types for + ("int" and "str")',
    'Unsupported operand types for | ("dict[str, int]" and "int")',
    'Missing positional argument "url" in call to "fetch"',
    'Item "None" of "str | None" has no attribute "strip"',
    'Cannot instantiate abstract class "Reader" with abstract attribute "read"',
    'Cannot inherit from final class "Leaf"',
    'Incompatible return value type (got "Program", expected "int")',
    'Argument 1 to "run" has incompatible type "list[str]"; expected "str"',
    "Object of type `str` is not assignable to `int`",
    'Type "str" is not assignable to declared type "int"',
    'No overload variant of "get" of "dict" matches argument type "int"',
    "",
]


@pytest.mark.parametrize("message", OF_OTHERS)
def test_a_message_about_something_else_is_left_alone(message: str) -> None:
    assert explained(message) is None


RUNGS = st.integers(0, 6).map(lambda n: "Succ[" * n + "Z" + "]" * n)
TYPES = st.recursive(
    RUNGS
    | st.sampled_from(["Never", "Nat", "Forever", "None", "str", "Download | Delay", "@_", "", "["])
    | st.text("[]()|,-> \"'`@", max_size=6),
    lambda inner: st.builds(
        lambda name, parts: f"{name}[{', '.join(parts)}]",
        st.sampled_from(
            ["Program", "CommandOrAttempt", "Interpreter", "Rung", "type", "Callable", "list"]
        ),
        st.lists(inner, max_size=4),
    ),
    max_leaves=8,
)
WORDINGS = st.sampled_from(
    [
        'Argument 1 to "{m}" of "Program" has incompatible type "{a}"; expected "{b}"',
        'Argument of type "{a}" cannot be assigned to parameter "on" of type "{b}" in function '
        '"{m}"',
        "Argument to bound method `Program.{m}` is incorrect: Expected `{b}`, found `{a}`",
        "Argument `{a}` is not assignable to parameter `on` with type `{b}` in function `x.{m}`",
        'Unsupported operand types for >> ("{a}" and "{b}")',
        'Operator "|" not supported for types "{a}" and "{b}"',
        'Incompatible return value type (got "{a}", expected "{b}")',
        '"yield from" can\'t be applied to "{a}"',
        'Invalid self argument "{a}" to attribute function "{m}" with type "{b}"',
        'No overload variant of "{m}" matches argument types "{a}", "{b}"',
        "No matching overload found for function `x.{m}` called with arguments: ({a}, within={b})",
        '"{a}" has no attribute "{m}"',
    ]
)
METHODS = st.sampled_from(
    [
        *(
            "at",
            "do",
            "then",
            "bind",
            "or_bind",
            "retry",
            "retry_with",
            "run",
            "backoff",
            "wait",
            "map",
        ),
        *("call", "all_of", "handled_by", "around", "attempt", "Listed", "Computed", "Delay"),
        *("Program", "limit"),
    ]
)


@given(wording=WORDINGS, it=TYPES, wanted=TYPES, method=METHODS)
@example('Argument 1 to "{m}" has incompatible type "{a}"; expected "{b}"', "Program[", "]", "at")
def test_no_message_is_too_strange(wording: str, it: str, wanted: str, method: str) -> None:
    """Law: what is explained has a page, one sentence, a fix, and a ladder that can be drawn."""
    said = explained(wording.format(a=it, b=wanted, m=method))
    if said is not None:
        assert said.code in pages()
        assert said.sentence.endswith(".")
        assert said.fix.endswith(".")
        assert "Succ[" not in said.sentence or "Succ[Z" not in said.sentence
        assert said.ladder is None or drawing(said.ladder)


def test_a_ladder_without_end_has_the_name_that_one_writes() -> None:
    got, wanted = "Program[Z, Z, None, Never]", "Program[Forever, Z, None, Never]"
    said = explained(f'Incompatible return value type (got "{got}", expected "{wanted}")')
    assert said is not None
    assert said.sentence == "This program starts at N0, not at FOREVER."
    assert said.fix.startswith("Start it with at(FOREVER),")


def test_a_command_alone_is_retried_where_a_function_would_be() -> None:
    wanted = "Callable[[int], CommandOrAttempt[Never, Never]]"
    said = explained(
        f'Argument 1 to "retry_with" of "Program" has incompatible type "Log"; expected "{wanted}"'
    )
    assert said is not None
    assert said.fix.endswith("or .retry(...) for a command alone.")


@given(st.text(max_size=80))
def test_any_text_may_be_a_message(text: str) -> None:
    explained(text)
    parse(text)
    with_names(text)
    depth(text)


NAMES = {"N0": N0, "N1": N1, "N2": N2, "N3": N3, "N4": N4, "N5": N5, "N6": N6, "N7": N7, "N8": N8}


def stepwise(start: int, down: int, skips: str = "") -> str:
    """A program that begins at a rung and goes so many rungs down."""
    return f"at(N{start}){'.skip()' * down}{skips}"


@given(start=st.integers(0, 4), down=st.integers(0, 4), following=st.integers(0, 4))
def test_the_advice_for_a_joint_is_right(start: int, down: int, following: int) -> None:
    """Law: each thing to write makes the two programs join, when they are put together."""
    assume(down <= start and following != start - down and start > down)
    end = start - down
    first = f"Program[N{start}, N{end}, None, Never]"
    said = explained(
        f'Unsupported operand types for >> ("{first}" and "Program[N{following}, Z, None, Delay]")'
    )
    assert said is not None
    joint = "{} >> {}.end()"
    refused(joint.format(stepwise(start, down), f"at(N{following})"))
    [instead] = re.findall(r"Write at\((N\d+)\) for", said.fix)
    accepted(joint.format(stepwise(start, down), f"at({instead})"))
    for higher in re.findall(r"start the first at N(\d+)", said.fix):
        accepted(joint.format(stepwise(int(higher), down), f"at(N{following})"))
    for skips in re.findall(r"go down before it with ((?:\.\w+\(\))+)", said.fix):
        accepted(joint.format(stepwise(start, down, skips), f"at(N{following})"))


def accepted(text: str) -> None:
    made = eval(text, {"at": at, **NAMES})  # noqa: S307
    assert isinstance(made, Program)


def refused(text: str) -> None:
    with pytest.raises(TypeError):
        accepted(text)


@given(start=st.integers(0, 20), end=st.integers(0, 20), other=st.none() | st.integers(0, 20))
def test_a_drawing_has_the_rungs_that_matter(start: int, end: int, other: int | None) -> None:
    assume(end <= start)
    lines = drawing(Sketch(start, end, other))
    rungs = [int(line.split()[0][1:]) for line in lines if line.startswith("N")]
    assert rungs == sorted(rungs, reverse=True)
    assert {start, end, 0} <= set(rungs)
    assert other is None or other in rungs
    assert len(lines) <= 12
    assert all(len(line) <= 100 for line in lines)


def test_the_deepest_rung_has_no_higher_one() -> None:
    deepest = "Succ[" * 20 + "Z" + "]" * 20
    assert depth(deepest) == at(N20).start == 20
    said = explained(
        f'Unsupported operand types for >> ("Program[{deepest}, Succ[Z], None, Never]" and '
        '"Program[Succ[Succ[Z]], Z, None, Never]")'
    )
    assert said is not None
    assert "N21" not in said.fix
    said = explained(
        "Argument to bound method `Program.backoff` is incorrect: Expected `Program["
        f"{deepest}, Succ[Unknown], None, Delay]`, found `Program[{deepest}, Z, None, Delay]`"
    )
    assert said is not None
    assert "higher" not in said.fix
