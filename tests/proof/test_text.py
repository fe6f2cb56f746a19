"""The proof is whole, and it is the one that the page is about."""

from __future__ import annotations

import re
from inspect import signature
from pathlib import Path
from pkgutil import iter_modules

import pytest

import ixbackoff
from ixbackoff import Attempt, Program, backoff

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
FILES = sorted((DOCS / "proof").glob("*.agda"))
PAGE = (DOCS / "proof.md").read_text()
each_file = pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)


def code(file: Path) -> str:
    """The text of a file without comments."""
    text = re.sub(r"\{-(?!#).*?-\}", "", file.read_text(), flags=re.DOTALL)
    return re.sub(r"(^|\s)--(\s.*)?$", r"\1", text, flags=re.MULTILINE)


@each_file
def test_nothing_is_taken_for_granted(file: Path) -> None:
    text = code(file)
    assert re.findall(r"\{-#(.*?)#-\}", text) == [" OPTIONS --safe "]
    for word in ("postulate", "primitive", "primTrustMe", "TERMINATING", "unsafe", "believe_me"):
        assert word not in text
    assert not re.search(r"(^|[\s({])\?($|[\s)}])|\{!", text), "a hole"


@each_file
def test_all_of_it_is_checked(file: Path) -> None:
    everything = code(DOCS / "proof" / "Everything.agda")
    named = re.search(rf"^open import {file.stem}\s*$", everything, re.MULTILINE)
    assert named or file.stem == "Everything"


def test_the_calculus_is_short() -> None:
    assert len((DOCS / "proof" / "Calculus.agda").read_text().splitlines()) < 500


def test_the_page_states_theorems_of_the_proof() -> None:
    proven = "".join(code(file) for file in FILES)
    stated = [name for name in re.findall(r"`([^\s`]+)`", PAGE) if name.count("-") >= 3]
    assert len(stated) > 10
    for name in stated:
        assert re.search(rf"^ *{re.escape(name)} :", proven, re.MULTILINE), name


def test_the_page_names_files_of_the_proof() -> None:
    named = set(re.findall(r"\(proof/(\w+\.agda)\)", PAGE))
    assert named == {file.name for file in FILES}


def rows() -> list[tuple[list[str], str, list[str]]]:
    """The words of each row of the table of words, whether the model has them, and the tests."""
    table = PAGE.partition("| word | in the model | tests |\n")[2].partition("\n\n")[0]
    cells = [row.strip("| ").split(" | ") for row in table.splitlines()[1:]]
    return [(quoted(words), model, quoted(tests)) for words, model, tests in cells]


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_each_public_word_is_in_the_model_or_said_not_to_be() -> None:
    words = [word for row in rows() for word in row[0]]
    words += [f"N{n}" for n in range(1, 20)]  # "`N0` to `N20`"
    methods = {f".{name}" for kind in (Program, Attempt) for name in dir(kind) if name[0] != "_"}
    of_a_run = signature(Program.run).parameters.keys() - {"self", "interpreter"}
    arguments = {f"{name}=" for name in of_a_run | signature(backoff).parameters.keys() - {"rung"}}
    folders = {
        f"ixbackoff.{module.name}"
        for module in iter_modules(ixbackoff.__path__)
        if not module.name.startswith("_")
    }
    assert sorted(words) == sorted({*ixbackoff.__all__} | methods | arguments | folders)


def test_each_word_has_its_tests() -> None:
    for words, model, tests in rows():
        assert tests, words
        assert ("proof" in tests[0]) == ("yes, compared" in model and "FOREVER" not in words)
        for test in tests:
            assert re.search(r"^(async )?def test_|^    def test_", (ROOT / test).read_text(), re.M)
