"""The proof is whole, and it is the one that the page is about."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent.parent / "docs"
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
