"""What `check` explains of the output of five type checkers, each run once over all files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ixbackoff._door.check_formats import explanation
from ixbackoff._door.diagnosing.explained_errors import Finding
from ixbackoff._door.mistake_pages import pages
from ixbackoff._door.reading.checker_output import Error, errors_in

from ..support.checkers.checked import (
    BLOCK,
    ROOT,
    Checked,
    as_users_see_it,
    checked,
    named,
    programs,
)
from ..support.checkers.typecheckers import CHECKERS, MYPY, Checker

pytestmark = pytest.mark.slow
REJECTED = sorted((ROOT / "typecheck_cases" / "reject").glob("*.py"))
NEWCOMERS = Path(__file__).parent / "mistakes_of_newcomers.md"
EXPLAINED = {"mypy": 26, "zuban": 26, "pyrefly": 26, "pyright": 25, "ty": 25}
MARK = re.compile(r"#(?: E:| \d+:)")


only_mypy = pytest.mark.parametrize("checker", [MYPY], indirect=True, ids=["mypy"])


def files(folder: Path) -> list[Path]:
    """Write all programs: the newcomer's, and the wrong and the right ones of the pages."""
    [newcomer] = programs(NEWCOMERS)
    texts = {"newcomer": newcomer}
    for page in pages().values():
        said = {words.strip(): text for _, words, text in BLOCK.findall(page.text)}
        texts[f"wrong_{page.code}"] = said["mistake"]
    texts |= right_programs()
    for name, text in texts.items():
        (folder / f"{name.replace('-', '_')}.py").write_text(text)
    return sorted(folder.glob("*.py"))


def right_programs() -> dict[str, str]:
    """The right program of each page."""
    return {
        f"right_{page.code}": text
        for page in pages().values()
        for language, words, text in BLOCK.findall(page.text)
        if language == "python" and not words
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("programs")
    files(folder)
    return folder


@pytest.fixture(scope="module", params=CHECKERS, ids=lambda checker: checker.name)
def checker(request: pytest.FixtureRequest) -> Checker:
    chosen: Checker = request.param
    return chosen


@pytest.fixture(scope="module")
def run(checker: Checker, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Checked:
    work = tmp_path_factory.mktemp(checker.name)
    given = [*sorted(folder.glob("*.py")), *REJECTED]
    return checked(as_users_see_it(checker), given, work)


def lines_of(found: list[Finding | Error]) -> dict[int, list[Finding | Error]]:
    lines: dict[int, list[Finding | Error]] = {}
    for one in found:
        lines.setdefault(one.error.line if isinstance(one, Finding) else one.line, []).append(one)
    return lines


def test_nearly_all_mistakes_of_a_newcomer_are_explained(
    checker: Checker, run: Checked, folder: Path
) -> None:
    file = folder / "newcomer.py"
    errors = lines_of(run.of(file))
    explained = [line for line, found in errors.items() if any_finding(found)]
    marked = [n for n, line in enumerate(file.read_text().splitlines(), 1) if MARK.search(line)]
    assert set(explained) <= {*marked, marked[-1] + 1}
    assert len(explained) == EXPLAINED[checker.name], sorted(set(marked) - set(explained))


def any_finding(found: list[Finding | Error]) -> bool:
    return any(isinstance(one, Finding) for one in found)


@pytest.mark.parametrize("code", pages())
def test_the_right_program_of_a_page_passes(run: Checked, folder: Path, code: str) -> None:
    assert run.of(folder / f"right_{code.replace('-', '_')}.py") == []


@pytest.mark.parametrize("code", pages())
def test_the_wrong_program_of_a_page_is_explained_by_its_code(
    checker: Checker, run: Checked, folder: Path, code: str
) -> None:
    found = run.of(folder / f"wrong_{code.replace('-', '_')}.py")
    codes = {one.explanation.code for one in found if isinstance(one, Finding)}
    if checker.name in ("mypy", "zuban"):
        assert codes == {code}
    else:
        assert code in codes


@only_mypy
@pytest.mark.parametrize("code", pages())
def test_a_page_says_what_check_says(
    run: Checked, checker: Checker, folder: Path, code: str
) -> None:
    name = f"wrong_{code.replace('-', '_')}.py"
    said = [text for one in run.of(folder / name) for text in printed(one)]
    [shown] = [text for _, words, text in BLOCK.findall(pages()[code].text) if words == " check"]
    file = rf"^.*?{name}:"
    assert re.sub(file, "program.py:", "".join(said), flags=re.MULTILINE) == shown


def printed(one: Finding | Error) -> list[str]:
    return list(explanation(one)) if isinstance(one, Finding) else list(one.lines)


ORDINARY = re.compile(
    r'"(?:page|page_async|fetch|Copy|first_of|finagle|seeded|aws_polling)"'
    r'|"GetETag" has no attribute|"str" has no attribute|\(actual type "(?:None|bytes)"'
    r'|type "(?:bytes|str|int|list\[\w+\]|tuple\[[\w, ]+\]|First\[\w+\]|Coroutine\[.*bytes\])"'
    r'|type "Backoff\[Nat\]"'
    r'|got "str", expected "int"|"Exponential" has no attribute|final attribute "base"'
    r'|List item 0 has|try using Literal|Argument "(?:nested|until)"'
    r'|abstract class "(?:Empty|Mute)"'
    r'|(?:of|for "start" of) "(?:Model|Engine)"|Sequence\[Surprise\]|Argument 1 to "dies"'
    r'|Argument 1 has incompatible type "Callable\[\[\], (?:int|Program)'
)
"""Errors in the reader's own types and values, which say what is meant without an explanation."""
FORGED = re.compile(
    r"Cannot infer value of type|variable has type \"(?:Waits|Runs|Starts|type\[Nat\]|Callable"
    r'|tuple)|Returning Any|too many types|and "Program\[.*Never'
)
"""Attempts to deceive the checker, in words that nobody writes by mistake."""


@only_mypy
def test_of_the_rejected_cases_nearly_all_lines_are_explained(
    checker: Checker, run: Checked
) -> None:
    """95 % and more of the lines that are about programs; the others are ordinary errors."""
    explained, ordinary, forged, others = 0, 0, 0, []
    for file in REJECTED:
        for found in lines_of(run.of(file)).values():
            message = " ".join(one.message for one in found if isinstance(one, Error))
            if any_finding(found):
                explained += 1
            elif FORGED.search(message):
                forged += 1
            elif ORDINARY.search(message):
                ordinary += 1
            else:
                others.append(message)
    lines = explained + ordinary + forged + len(others)
    print(f"{lines} lines: {explained} explained, {ordinary} ordinary, {forged} forged, {others}")
    assert others == []
    assert explained >= 0.95 * (lines - ordinary)


def test_nothing_is_lost(run: Checked) -> None:
    """Errors and lines are kept in their order, but the doubles of lambdas and of `with`."""
    read = list(errors_in(run.printed.splitlines(keepends=True)))
    assert "".join(line for one in read for line in lines_of_piece(one)) == run.printed
    kept = iter([one.error if isinstance(one, Finding) else one for one in run.pieces])
    following = next(kept, None)
    lost: list[Error | str] = []
    for one in read:
        if one == following:
            following = next(kept, None)
        else:
            lost.append(one)
    assert following is None
    assert [one for one in lost if not is_a_double(one)] == []


def is_a_double(one: Error | str) -> bool:
    return isinstance(one, Error) and (
        one.code == "return-value"
        or "exit__" in one.message
        or 'to "backoff" has incompatible type "Callable' in one.message
        or one.file.endswith("wrong_not_a_rung.py")  # calls a function under a bare @backoff
        # one call with several wrong arguments
        or one.file.endswith(("wrong_no_such_option.py", "a_breaker_that_cannot_be.py"))
    )


def lines_of_piece(one: Error | str) -> tuple[str, ...]:
    return (one,) if isinstance(one, str) else one.lines


SHORT = {"ty": "--output-format=concise", "pyrefly": "--output-format=min-text", "mypy": "--pretty"}


@pytest.mark.parametrize("name", SHORT)
def test_other_formats_of_a_checker_are_understood(name: str, folder: Path, tmp_path: Path) -> None:
    file = folder / "newcomer.py"
    run = checked(as_users_see_it(named(name), SHORT[name]), [file], tmp_path)
    lines = {line for line, found in lines_of(run.of(file)).items() if any_finding(found)}
    assert len(lines) == EXPLAINED[name]


@pytest.mark.parametrize("length", [40, 62, 66, 70, 80, 120])
def test_pretty_lines_of_files_with_long_paths_are_understood(
    length: int, folder: Path, tmp_path: Path
) -> None:
    at = tmp_path / "at"
    at.mkdir()
    # mypy's cache tells the errors of a module of the same name and text under its first path
    file = tmp_path / f"{f'n{length}'.ljust(length - len(f'{tmp_path}/.py'), 'n')}.py"
    file.write_text((folder / "newcomer.py").read_text())
    run = checked(as_users_see_it(named("mypy"), "--pretty"), [file], at)
    lines = {line for line, found in lines_of(run.of(file)).items() if any_finding(found)}
    assert len(lines) == EXPLAINED["mypy"]
