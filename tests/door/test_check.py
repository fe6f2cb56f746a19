"""`ixbackoff check`: output of checkers as it is read, and what is printed of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff.__main__ import main
from ixbackoff._door import check_formats, checkers
from ixbackoff._door.reading.checker_output import Error, errors_in

from ..support.processes import Child

WRONG = """from ixbackoff import N1, N2, Download, at

get = Download("http://localhost/a", "a")
at(N1).do(get).backoff().or_else(get).backoff()
at(N2).do(get).wait() >> at(N2).retry(get)
at(N1) >> at(N2), at(N2) >> at(N1)
number: int = "five"
"""
SENTENCE = "no_wait_is_left_at_N0_start_on_a_higher_rung"
JOINT = (
    'Unsupported operand types for >> ("Program[Succ[Succ[Z]], Succ[Z], None, Download | Delay]" '
    'and "Program[Succ[Succ[Z]], Z, None, Download | Delay]")'
)
OF_MYPY = f"""program.py:4: error: Missing named argument "{SENTENCE}" for "backoff" of "Program"  \
[call-arg]
program.py:4: note: "backoff" defined in "ixbackoff._writing.programs"
program.py:5: error: {JOINT}  [operator]
program.py:7: error: Incompatible types in assignment (expression has type "str", variable has \
type "int")  [assignment]
Found 3 errors in 1 file (checked 1 source file)
"""
SHOWN = """\
program.py:4: error: No wait is left: .backoff() goes one rung down, and the program, which \
started at N1, is at N0.  [no-wait-left]
    at(N1).do(get).backoff().or_else(get).backoff()
                                          ^
      N1   *
      N0    *   <- it ends here
    Start it at N2, or leave .backoff() out.
program.py:5: error: The first ends at N1, but the second starts at N2: the ladder would start \
again with short waits.  [goes-up]
    at(N2).do(get).wait() >> at(N2).retry(get)
                             ^
      N2   *    <- the next program would start here
      N1    *   <- the program is here
      N0
    Write at(N1) for at(N2) in the second, start the first at N3, or put both into one attempt.
program.py:7: error: Incompatible types in assignment (expression has type "str", variable has \
type "int")  [assignment]
Found 3 errors in 1 file (checked 1 source file)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the wrong program, in which everything runs."""
    (tmp_path / "program.py").write_text(WRONG)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def piped(text: str | bytes, *words: str) -> tuple[str, int]:
    """What `check -` prints of a text, and its exit status."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "ixbackoff", "check", *words, "-"],
        input=text.encode() if isinstance(text, str) else text,
        capture_output=True,
        check=False,
    )
    assert b"Traceback" not in done.stderr, done.stderr
    return done.stdout.decode(errors="surrogateescape"), done.returncode


@pytest.mark.usefixtures("folder")
def test_what_is_known_is_explained_and_the_rest_is_unchanged() -> None:
    assert piped(OF_MYPY) == (SHOWN, 1)


@pytest.mark.usefixtures("folder")
def test_colours_and_wrapped_lines_are_read_too() -> None:
    red = OF_MYPY.replace("error:", "\x1b[1m\x1b[31merror:\x1b(B\x1b[m")
    assert piped(red)[0].startswith(SHOWN.partition("program.py:7")[0])
    pretty = (
        f'program.py:4: error: Missing named argument\n"{SENTENCE}"'
        ' for "backoff" of "Program" \n[call-arg]\n    at(N1).do(get).backoff()\n    ^~~~~~~~~\n'
        "Found 1 error in 1 file (checked 1 source file)\n"
    )
    said = SHOWN.partition("program.py:5")[0]
    assert piped(pretty) == (f"{said}Found 1 error in 1 file (checked 1 source file)\n", 1)


@pytest.mark.usefixtures("folder")
def test_a_concise_error_is_one_line() -> None:
    lines = piped(OF_MYPY, "--output-format=concise")[0].splitlines()
    assert len(lines) == 4
    assert lines[0] == (
        "program.py:4: error: No wait is left: .backoff() goes one rung down, and the program, "
        "which started at N1, is at N0. Start it at N2, or leave .backoff() out.  [no-wait-left]"
    )


def test_a_source_that_is_not_there_is_done_without(tmp_path: Path) -> None:
    missing = OF_MYPY.replace("program.py", str(tmp_path / "missing.py"))
    text, status = piped(missing)
    assert status == 1
    assert "[no-wait-left]" in text
    assert "[goes-up]" in text


def test_a_terminal_obeys_nothing_in_a_source_that_is_shown(folder: Path) -> None:
    (folder / "program.py").write_text(WRONG.replace(".or_else(get)", ".or_else(get)#\x1b"))
    text, _ = piped(OF_MYPY)
    assert "\x1b" not in text
    assert ".or_else(get)#?.backoff()\n" in text


def test_a_module_whose_name_only_begins_like_ours_is_not_imported(folder: Path) -> None:
    (folder / "ixbackoff_tools.py").write_text("print('imported')\ndef at(): ...\n")
    (folder / "program.py").write_text("import ixbackoff\nfrom ixbackoff_tools import at\nat(3)\n")
    error = 'program.py:3: error: Too many arguments for "at"  [call-arg]\n'
    assert piped(error) == (error, 1)


@pytest.mark.usefixtures("folder")
def test_several_errors_on_one_line_are_each_told() -> None:
    up, down = (
        f'program.py:6: error: Unsupported operand types for >> ("Program[{a}, {a}, None, Never]" '
        f'and "Program[{b}, {b}, None, Never]")  [operator]\n'
        for a, b in (("Succ[Z]", "Succ[Succ[Z]]"), ("Succ[Succ[Z]]", "Succ[Z]"))
    )
    text, _ = piped(up + down)
    assert [line.split()[-1] for line in text.splitlines() if "error:" in line] == [
        "[goes-up]",
        "[jumps-down]",
    ]


@pytest.mark.usefixtures("folder")
def test_a_lambda_is_told_once() -> None:
    program, effect = "Program[Succ[Z], Z, None, Delay]", "CommandOrAttempt[Never, Never]"
    twice = (
        f'program.py:4: error: Argument 1 to "then" of "Program" has incompatible type '
        f'"Callable[[None], {program}]"; expected "Callable[[None], {effect}]"  [arg-type]\n'
        f'program.py:4: error: Incompatible return value type (got "{program}", expected '
        f'"{effect}")  [return-value]\n'
    )
    text, _ = piped(twice)
    assert text.count("error:") == 1
    assert "[retry-in-an-attempt]" in text


@pytest.mark.usefixtures("folder")
def test_programs_read_the_errors_as_json() -> None:
    text, status = piped(OF_MYPY, "--output-format", "json")
    first, second, third = (json.loads(line) for line in text.splitlines())
    assert status == 1
    assert (first["file"], first["line"], first["column"], first["code"]) == (
        "program.py",
        4,
        39,
        "call-arg",
    )
    assert first["explanation"]["code"] == "no-wait-left"
    assert second["explanation"]["ladder"]["other"] == 2
    assert third["explanation"] is None


@pytest.mark.usefixtures("folder")
def test_github_shows_an_annotation_for_each_error() -> None:
    lines = piped(OF_MYPY, "--output-format", "github")[0].splitlines()
    assert len(lines) == 3
    assert lines[0].startswith(
        "::error file=program.py,line=4,col=39,title=ixbackoff%3A no-wait-left::No wait is left: "
    )
    assert lines[2].startswith("::error file=program.py,line=7,title=assignment::Incompatible")


@pytest.mark.usefixtures("folder")
def test_code_scanning_reads_a_document() -> None:
    document = json.loads(piped(OF_MYPY, "--output-format", "sarif")[0])
    [run] = document["runs"]
    assert document["version"] == "2.1.0"
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert rules == {"ixbackoff/no-wait-left", "ixbackoff/goes-up", "assignment"}
    assert {result["ruleId"] for result in run["results"]} == rules
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "program.py"
    assert place["region"] == {"startLine": 4, "startColumn": 39}


def test_the_name_of_a_file_is_escaped_in_a_uri() -> None:
    assert check_formats.uri("a b/c#1.py") == "a%20b/c%231.py"


@pytest.mark.parametrize("form", ["full", "concise", "json", "github", "sarif"])
def test_nothing_to_read_is_no_error(form: str) -> None:
    assert piped("", f"--output-format={form}")[1] == 0
    assert piped("Success: no issues found in 1 source file\n", f"--output-format={form}")[1] == 0


def test_what_explains_is_not_loaded_for_a_project_without_errors() -> None:
    code = (
        "import sys; from ixbackoff.__main__ import main; main(['check', '-'])\n"
        "print(any('_door.reading' in one or '_door.diagnosing' in one for one in sys.modules))"
    )
    clean = "Success: no issues found in 1 source file\n"
    for text, loads in ((clean, "False"), (OF_MYPY, "True")):
        words = [sys.executable, "-c", code]
        done = subprocess.run(words, input=text, capture_output=True, text=True, check=True)  # noqa: S603
        assert done.stdout.splitlines()[-1] == loads


LINES = st.sampled_from(
    [
        *OF_MYPY.splitlines(keepends=True),
        "program.py:4: error: Missing named argument\n",
        "  /a/b.py:3:1 - error: Argument missing\n",
        '    "x" is not assignable\n',
        "error[invalid-argument-type]: Argument is incorrect\n",
        "  --> program.py:4:1\n",
        "   | ^^^ Expected `Rung[Unknown]`, found `Literal[3]`\n",
        "\n",
        "ERROR Argument `int` is not assignable [bad-argument-type]\n",
        "ERROR program.py:4:1-3: Argument `int` [bad-argument-type]\n",
        " INFO 2 errors\n",
        "    ^~~\n",
        "\x1b[31mred\x1b[0m\r\n",
        "\udcff\n",
        "no end",
    ]
)


@given(st.lists(LINES, max_size=12))
def test_every_line_stays_in_its_place(lines: list[str]) -> None:
    """Law: errors and other lines, one after the other, are the output of the checker."""
    pieces = list(errors_in(lines))
    kept = [
        one for piece in pieces for one in (piece.lines if isinstance(piece, Error) else [piece])
    ]
    assert kept == lines


def test_what_is_not_text_is_passed_on() -> None:
    odd = b"\xff\xfe not text\r\n\x00\n"
    assert piped(odd)[0].encode(errors="surrogateescape") == odd


def test_a_closed_pipe_is_not_a_traceback(tmp_path: Path) -> None:
    with Child(
        [sys.executable, "-m", "ixbackoff", "check", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.write(OF_MYPY.encode() * 1000)
        process.stdin.close()
        assert process.stderr.read() == b""
        assert process.wait() == 1


def test_a_wrong_checker_is_told_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["check", "--checker", "mypyy", "src"])
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "'mypyy' (choose from" in told


def test_a_checker_that_is_not_installed_is_told_in_one_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert main(["check", "--checker", "ty", "src"]) == 2
    assert capsys.readouterr().err == "ty is not installed: pip install ty.\n"
    script = tmp_path / "pyright"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    assert main(["check", "src"]) == 2
    assert capsys.readouterr().err == (
        "mypy is not installed: pip install mypy, or write --checker pyright.\n"
    )


@pytest.mark.parametrize(
    ("name", "words", "plainly", "first"),
    [
        ("mypy", ["src", "--strict"], False, ["src", "--strict"]),
        ("ty", ["src"], False, ["check", "src"]),
        ("ty", ["check", "src"], False, ["check", "src"]),
        ("zuban", ["mypy", "src"], False, ["mypy", "src"]),
        ("ty", ["src", "--color=always"], True, ["check", "--output-format=concise", "src"]),
        ("pyrefly", ["src"], False, ["check", "--preset=default", "src"]),
        ("pyrefly", ["src", "--preset=off"], True, ["check", "--output-format=min-text"]),
    ],
)
def test_the_words_of_a_checker_are_its_own(
    name: str, words: list[str], plainly: bool, first: list[str]
) -> None:
    command = checkers.command(name, words, plainly)[1:]
    assert command[: len(first)] == first
