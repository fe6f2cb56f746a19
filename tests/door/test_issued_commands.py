"""What the source tells of the commands of a program, where the checker's message does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from ixbackoff._door.diagnosing.explained_errors import found
from ixbackoff._door.diagnosing.explanation import Explanation
from ixbackoff._door.reading.checker_output import Error
from ixbackoff._door.reading.sources import Source

ORDER = """\
from ixbackoff import N0, N3, Command, Delay, Do, Log, Program, at, attempt, do
from ixbackoff.live import live


class Reserve(Command[str]): ...
class Pay(Command[int]): ...


@attempt
def buy() -> Do[Reserve | Pay, int]: ...


def order() -> Program[N3, N0, int, Reserve | Pay | Delay]: ...


Both = Reserve | Pay


def aliased() -> Program[N3, N0, int, Both | Delay]: ...


patient = at(N3).retry(buy())
reserved = Reserve.handled_by(str)
"""
JOINED = 'Unsupported operand types for | ("Interpreter[Delay | Log]" and "Interpreter[Reserve]")'


def said(folder: Path, line: str, message: str) -> Explanation:
    """Explain a message about a last line."""
    (folder / "order.py").write_text(ORDER)
    text = f"{ORDER}{line}\n"
    (folder / "program.py").write_text(text)
    error = Error("program.py", len(text.splitlines()), 0, message, "", ())
    finding = found(error, Source(folder / "program.py"))
    assert finding is not None
    return finding.explanation


@pytest.mark.parametrize(
    "program",
    [
        "order()",
        "patient",
        "at(N3).retry(buy())",
        "at(N3).retry(do(Reserve()).or_else(buy()))",
        "at(N3).do(buy()).backoff().end()",
        "at(N3).do(Reserve()) >> at(N3).retry(Pay())",
    ],
)
def test_joined_handlers_are_told_who_is_missing(tmp_path: Path, program: str) -> None:
    explained = said(tmp_path, f"{program}.run(live() | reserved)", JOINED)
    assert explained.sentence == "No handler answers Pay."
    assert explained.fix == "Join: interpreter | Pay.handled_by(...)."


def test_what_is_imported_is_read_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(ORDER)
    line = "from shop import order as _, order_now\norder_now().run(live() | reserved)"
    (tmp_path / "shop.py").write_text(ORDER.replace("def order()", "def order_now()"))
    assert said(tmp_path, line, JOINED).sentence == "No handler answers Pay."


@pytest.mark.parametrize("program", ["unknown()", "patient.then(lambda _: Pay())", "aliased()"])
def test_what_the_source_does_not_tell_is_not_guessed(tmp_path: Path, program: str) -> None:
    explained = said(tmp_path, f"{program}.run(live() | reserved)", JOINED)
    assert explained.code == "no-handler"
    assert "Nobody" not in explained.sentence
    assert explained.fix.startswith("Assign the joined handlers to a variable")


def test_a_function_that_is_not_called_is_told_by_its_name(tmp_path: Path) -> None:
    for message in (
        '"Callable[[], Program[Z, Z, int, Pay]]" has no attribute "run"',
        'Cannot access attribute "run" for class "FunctionType"',
        "Function `order` has no attribute `run`",
    ):
        explained = said(tmp_path, "order.run(live())", message)
        assert explained.fix == "Write order().run(...), with its parentheses."


def test_calls_of_other_functions_are_left_alone(tmp_path: Path) -> None:
    text = f"{ORDER}\ndef other(): ...\nother.run()\n"
    (tmp_path / "program.py").write_text(text)
    message = 'Cannot access attribute "run" for class "FunctionType"'
    error = Error("program.py", len(text.splitlines()), 0, message, "", ())
    assert found(error, Source(tmp_path / "program.py")) is None


TOO_NARROW = (
    'Argument 1 to "retry" of "Program" has incompatible type "Attempt[Reserve | Pay, int]"; '
    'expected "CommandOrAttempt[{}, int]"'
)


def test_a_type_without_commands_gets_those_that_are_issued(tmp_path: Path) -> None:
    lines = "def late() -> Program[N3, N0, int]:\n    return at(N3).retry(buy())"
    explained = said(tmp_path, lines, TOO_NARROW.format("Download | Upload | Delay | Log | Throw"))
    assert explained.fix == "Declare Program[N3, N0, int, Reserve | Pay | Delay]."


def test_a_limit_reads_the_clock(tmp_path: Path) -> None:
    lines = "def late() -> Program[N3, N0, int]:\n    return at(N3).retry(buy().limit(5))"
    explained = said(tmp_path, lines, TOO_NARROW.format("Download | Upload | Delay | Log | Throw"))
    assert explained.fix == "Declare Program[N3, N0, int, Reserve | Pay | Now | Delay]."


def test_a_type_with_commands_gets_the_others(tmp_path: Path) -> None:
    lines = "def late() -> Program[N3, N0, int, Reserve]:\n    return at(N3).retry(buy())"
    explained = said(tmp_path, lines, TOO_NARROW.format("Reserve"))
    assert explained.sentence == "Pay is not among the commands that are declared: Reserve."
    assert explained.fix == "Declare the commands Reserve | Pay | Delay."


@pytest.mark.parametrize("setting", ["page = at(N3)", "page: Program[N3, N3] = at(N3)"])
def test_a_variable_that_is_set_once_is_followed(setting: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(f"{setting}\npage.do(get).backoff()\n")
    source = Source(tmp_path / "program.py")
    [(call, _)] = [one for one in source.calls[2] if one[1] == "backoff"]
    assert source.span_of(call) == (3, 2)
