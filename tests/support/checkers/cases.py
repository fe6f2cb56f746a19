"""Cases of type checkers: files that they accept, or reject on the lines that are marked.

A rejected line ends with mypy's codes: `# E: [arg-type]`. mypy is the contract: code and line match
exactly. The others match by line, but for the differences that are known.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .typecheckers import MYPY, Checker, Errors

CASES = Path(__file__).parents[3] / "typecheck_cases"
MARK = re.compile(r"  # E:((?: \[[a-z-]+\])+)$")


@dataclass(frozen=True)
class Known:
    """A difference between mypy and other checkers.

    Attributes:
        checkers: who differs from mypy.
        reason: why.
        lines: from a case to how the lines begin that they see otherwise.
    """

    checkers: tuple[str, ...]
    reason: str
    lines: dict[str, tuple[str, ...]]


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*/*.py"))


def name(file: Path) -> str:
    return f"{file.parent.name}/{file.stem}"


def marked(file: Path) -> Errors:
    """The errors that the marks of a case ask for."""
    found: Errors = []
    for number, line in enumerate(file.read_text().splitlines(), start=1):
        mark = MARK.search(line)
        if mark is not None:
            found += [(number, code) for code in re.findall(r"\[(.+?)\]", mark[1])]
        elif "# E" in line:
            raise ValueError(f"{name(file)}, line {number}: write the mark as `# E: [code]`")
    return sorted(found)


def known(checker: Checker, file: Path, excuses: Sequence[Known]) -> set[int]:
    """The lines of a case that a checker is known to see otherwise than mypy."""
    beginnings = tuple(
        beginning
        for one in excuses
        if checker.name in one.checkers
        for beginning in one.lines.get(name(file), ())
    )
    return {
        number
        for number, line in enumerate(file.read_text().splitlines(), start=1)
        if line.strip().startswith(beginnings)
    }


def differences(
    checker: Checker, file: Path, reported: Errors, excuses: Sequence[Known] = ()
) -> list[str]:
    """Compare what a checker found in a case with its marks and what is known of it."""
    lines = ["", *file.read_text().splitlines(), "the end of the file"]
    expected = marked(file)
    if checker is MYPY:
        told = [
            (number, f"{what} [{code}]")
            for what, errors in (
                ("missed", Counter(expected) - Counter(reported)),
                ("not marked", Counter(reported) - Counter(expected)),
            )
            for number, code in errors.elements()
        ]
    else:
        marks = {number for number, _ in expected}
        errors = {number for number, _ in reported}
        excused = known(checker, file, excuses)
        told = [(number, "missed") for number in marks - errors - excused]
        told += [(number, "not marked") for number in errors - marks - excused]
        told += [
            (number, "as mypy sees it: strike it from what is known")
            for number in excused - (marks ^ errors)
        ]
    return [
        f"{name(file)}, line {number}: {what}: {lines[number].strip()}"
        for number, what in sorted(told)
    ]
