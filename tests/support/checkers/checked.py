"""What five type checkers print of many files, each run once, and what is explained of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from ixbackoff._door.diagnosing.explained_errors import Finding, findings, sources
from ixbackoff._door.reading.checker_output import Error, errors_in

from .typecheckers import CHECKERS, Checker

ROOT = Path(__file__).parents[3]
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Checked:
    """The output of a checker about some files.

    Attributes:
        pieces: errors, explained ones, and other lines.
    """

    printed: str
    status: int
    pieces: Sequence[Finding | Error | str]
    folder: Path

    def of(self, file: Path) -> list[Finding | Error]:
        """All errors in a file."""
        return self.by_file.get(file.resolve(), [])

    @cached_property
    def by_file(self) -> dict[Path, list[Finding | Error]]:
        """All errors, by their files."""
        found: dict[str, list[Finding | Error]] = {}
        for piece in self.pieces:
            if not isinstance(piece, str):
                found.setdefault(error_of(piece).file, []).append(piece)
        return {(self.folder / file).resolve(): errors for file, errors in found.items()}


def error_of(piece: Finding | Error) -> Error:
    return piece.error if isinstance(piece, Finding) else piece


def as_users_see_it(checker: Checker, *more: str) -> Checker:
    """Have a checker print what it prints without an option."""
    arguments = [
        one for one in checker.arguments if not one.startswith(("--output", "--no-pretty"))
    ]
    return replace(checker, arguments=(*arguments, *more))


def checked(checker: Checker, files: Sequence[Path], folder: Path) -> Checked:
    """Run a checker over files, and explain what it prints."""
    done = checker.run(files, folder)
    assert done.returncode in (0, 1), done.stderr
    return explained_output(done.stdout, done.returncode, folder)


def explained_output(printed: str, status: int, folder: Path) -> Checked:
    pieces = list(findings(errors_in(printed.splitlines(keepends=True)), sources(folder)))
    return Checked(printed, status, pieces, folder)


def programs(page: Path, words: str = "") -> list[str]:
    """The Python blocks of a page that have these words behind their language."""
    return [
        text
        for language, said, text in BLOCK.findall(page.read_text())
        if language == "python" and said.strip() == words
    ]


def named(name: str) -> Checker:
    [found] = [one for one in CHECKERS if one.name == name]
    return found
