"""Asks a type checker for its verdict on many programs at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...support.checkers.typecheckers import Checker
from .cases import HEAD, Case

IN_A_FILE = 100
"""Programs in one module: a checker is started once for many modules."""

ABOUT_SOMETHING_ELSE = {
    "mypy": {
        "syntax",
        "name-defined",
        "valid-type",
        "no-redef",
        "no-untyped-def",
        "import-not-found",
    },
    "pyright": {
        "syntax",
        "reportUndefinedVariable",
        "reportRedeclaration",
        "reportInvalidTypeForm",
    },
}
"""Errors that would not be about rungs: a program must not be rejected for one of these."""


@dataclass(frozen=True)
class Verdict:
    """What a checker says of a program: the codes of its errors; none if it is accepted."""

    case: Case
    codes: frozenset[str]

    @property
    def accepted(self) -> bool:
        return not self.codes

    @property
    def right(self) -> bool:
        """Whether the verdict is the one of the arithmetic."""
        return self.accepted == self.case.right


def verdicts(checker: Checker, cases: Sequence[Case], folder: Path) -> list[Verdict]:
    """What a checker says of all programs, which are written into `folder`.

    Raises:
        AssertionError: it found an error outside of all programs, or one that is not about rungs.
    """
    folder.mkdir(exist_ok=True)
    files = {
        folder / f"programs_{first}.py": cases[first : first + IN_A_FILE]
        for first in range(0, len(cases), IN_A_FILE)
    }
    for file, held in files.items():
        file.write_text(module(held))
    report = checker.check(list(files), folder)
    told: list[Verdict] = []
    for file, held in files.items():
        errors = report[file.resolve()]
        line = HEAD.count("\n")
        assert not errors or errors[0][0] > line, (file, errors[0])
        for case in held:
            last = line + len(case.lines)
            codes = frozenset(code for number, code in errors if line < number <= last)
            assert not codes & ABOUT_SOMETHING_ELSE.get(checker.name, set()), (
                f"{sorted(codes)}\n{case}"
            )
            told.append(Verdict(case, codes))
            line = last
    return told


def module(cases: Sequence[Case]) -> str:
    """Programs as the text of a module."""
    return HEAD + "".join(f"{line}\n" for case in cases for line in case.lines)


def table(told: Sequence[Verdict]) -> str:
    """The verdicts by shape, as a table."""
    counts: dict[str, list[int]] = {}
    for verdict in told:
        place = 0 if verdict.case.right else 2
        row = counts.setdefault(verdict.case.shape, [0, 0, 0, 0])
        row[place] += 1
        row[place + 1] += not verdict.right
    rows = [(shape, *numbers) for shape, numbers in counts.items()]
    sums = [sum(numbers) for numbers in zip(*counts.values(), strict=True)]
    lines = [f"{'shape':28}{'right':>7}{'rejected':>10}{'wrong':>7}{'accepted':>10}"]
    for shape, *numbers in [*rows, ("all", *sums)]:
        right, rejected, wrong, accepted = numbers
        lines.append(f"{shape:28}{right:7}{rejected:10}{wrong:7}{accepted:10}")
    return "\n".join(lines)
