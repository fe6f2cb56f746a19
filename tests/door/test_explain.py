"""`ixbackoff explain`: the pages of the mistakes."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from ixbackoff.__main__ import main
from ixbackoff._door.mistake_pages import pages

from ..support.checkers.checked import BLOCK, ROOT

EXPLAINING = ROOT / "ixbackoff" / "_door" / "diagnosing"


def codes_in_the_source() -> set[str]:
    """Every text that stands where an explanation has its code."""
    found: set[str] = set()
    for path in EXPLAINING.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            first = []
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                first = node.args[:1] if node.func.id == "Explanation" else []
            if isinstance(node, ast.Dict) and path.name == "wrong_options.py":
                first = [one.elts[0] for one in node.values if isinstance(one, ast.Tuple)]
            texts = [one for arg in first for one in ast.walk(arg) if isinstance(one, ast.Constant)]
            found |= {one.value for one in texts if isinstance(one.value, str) and one.value}
    return {code for code in found if "[" not in code} - {"Program["}


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    assert codes_in_the_source() == set(pages())


def test_without_a_code_it_lists_them_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(pages())
    assert lines[0].endswith("A step goes one rung down, and the program is on the last one.")


@pytest.mark.parametrize("written", ["goes-up", "[goes-up]", "ixbackoff/goes-up"])
def test_it_prints_the_page_of_a_code(written: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", written]) == 0
    printed = capsys.readouterr().out
    assert printed == f"# goes-up\n\n{pages()['goes-up'].text}\n"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("goes-upp", "goes-upp is not the code of a mistake: did you mean goes-up?\n"),
        ("7", "7 is not the code of a mistake: `ixbackoff explain` lists them.\n"),
    ],
)
def test_what_is_not_a_code_is_told_in_one_sentence(
    wrong: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", wrong]) == 2
    assert capsys.readouterr().err == said


@pytest.mark.parametrize("code", pages())
def test_a_page_has_a_sentence_a_wrong_program_what_is_said_and_a_right_one(code: str) -> None:
    page = pages()[code]
    assert page.title.endswith(".")
    assert ". " not in page.title
    kinds = [(language, words.strip()) for language, words, _ in BLOCK.findall(page.text)]
    assert kinds == [("python", "mistake"), ("text", "check"), ("python", "")]


def test_the_site_shows_the_same_file() -> None:
    shown = ROOT / "docs" / "mistakes.md"
    assert shown.read_text() == (EXPLAINING.parent / "mistakes.md").read_text()
    assert shown.resolve() == Path(EXPLAINING.parent / "mistakes.md").resolve()
