"""`ixbackoff check`: the errors of a type checker, explained."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .._argument_parser import WRONG, Parser
from .checkers import CHECKERS, NotChecked, command, output
from .python_files import python_files

if TYPE_CHECKING:
    from .reading.checker_output import Error

UNCHANGED = ("full", "concise")  # formats that print unexplained errors as they are
FORMATS = (*UNCHANGED, "json", "github", "sarif")


def parsed(words: list[str]) -> tuple[str, str, list[str]]:
    """Parse the words; return the checker, the format, and the words for the checker."""
    parser = Parser(
        prog="ixbackoff check",
        usage="%(prog)s [--checker NAME] [--output-format FORMAT] [ARGUMENT ...] | -",
        description="Run a type checker, and explain its errors about programs with a sentence, "
        "a drawing of the ladder, and a correction. Other errors are printed unchanged. All other "
        "arguments, and all after --, are passed to the checker. mypy runs the plugins that its "
        "configuration names, even if that file is in a folder above: check only code that you "
        "trust. With -, read a checker's output from standard input: mypy src | ixbackoff check -",
        epilog="Exit status: that of the checker; 1 if only this command finds an error; 2 "
        "if the checker is not installed; with -, 1 if there are errors. `ixbackoff explain CODE` "
        "prints the page of a mistake.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--checker", choices=CHECKERS, default="mypy", help="the checker (default: %(default)s)"
    )
    parser.add_argument(
        "--output-format", choices=FORMATS, default="full", help="the format (default: %(default)s)"
    )
    cut = words.index("--") if "--" in words else len(words)
    own, rest = parser.parse_known_args(words[:cut])
    return own.checker, own.output_format, [*rest, *words[cut + 1 :]]


def main(words: list[str]) -> int:
    name, form, rest = parsed(words)
    from_input = rest == ["-"]
    try:
        if from_input:
            printed, status = (sys.stdin.buffer.read() if sys.stdin else b""), 0
        else:
            printed, status = output(command(name, rest, plainly=form not in UNCHANGED))
    except NotChecked as error:
        print(error, file=sys.stderr)
        return WRONG
    files = [] if from_input else [*python_files(rest)]
    files = files if any(mentions_ixbackoff(file) for file, _ in files) else []
    if form in UNCHANGED and b"error" not in printed.lower() and not files:
        write(printed)
        return status
    text, errors, own = explained(printed, form, files)
    write(text)
    return int(errors) if from_input else status or int(own)


def mentions_ixbackoff(file: Path) -> bool:
    try:
        return b"ixbackoff" in file.read_bytes()
    except OSError:
        return False


def explained(
    printed: bytes, form: str, files: Sequence[tuple[Path, Path]] = ()
) -> tuple[bytes, bool, bool]:
    """Explain `printed`, a checker's output, and mistakes in `files` that it leaves out.

    Each file is paired with its import root. Return the text, whether it reports any mistake, and
    whether a mistake that the checker does not report is an error.
    """
    from .audit.stack_report import nested
    from .audit.stacks import walked
    from .check_formats import FORMATS  # not at the top: a project without errors does not need it
    from .diagnosing.explained_errors import findings, sources
    from .diagnosing.unreported import unchecked
    from .reading.checker_output import SUCCESS, Error, errors_in
    from .reading.sources import Source

    lines = [line.decode(errors="surrogateescape") for line in printed.splitlines(keepends=True)]
    pieces = list(findings(errors_in(lines), sources(Path())))
    known = {place(piece.error) for piece in pieces if not isinstance(piece, str | Error)}
    own = [
        finding
        for file, _ in files
        for finding in unchecked(Source(file))
        if known.isdisjoint(near(place(finding.error)))
    ]
    if files:
        own += nested(walked(files).all(mentions_ixbackoff))
    wrong = any(finding.explanation.severity == "error" for finding in own)
    if wrong:  # the checker misses this mistake, and reports success
        pieces = [one for one in pieces if not (isinstance(one, str) and SUCCESS.match(one))]
    pieces += own
    text = "".join(FORMATS[form](pieces)).encode(errors="surrogateescape")
    return text, any(not isinstance(piece, str) for piece in pieces), wrong


def place(error: Error) -> tuple[Path, int]:
    return Path(error.file).resolve(), error.line


def near(place: tuple[Path, int]) -> set[tuple[Path, int]]:
    """Return a place, and the two lines before it, where a checker may report a decorator."""
    file, line = place
    return {(file, line - before) for before in range(3)}


def write(text: bytes) -> None:
    if sys.stdout is not None:
        sys.stdout.flush()
        sys.stdout.buffer.write(text)
