"""`ixbackoff check`: the errors of a type checker, explained."""

from __future__ import annotations

import sys
from pathlib import Path

from .._commandline import WRONG, Parser
from .checkers import CHECKERS, NotChecked, command, output

UNCHANGED = ("full", "concise")
"""The formats that print what is not explained as the checker does."""
FORMATS = (*UNCHANGED, "json", "github", "sarif")


def parsed(words: list[str]) -> tuple[str, str, list[str]]:
    """Parse the words; return the checker, the format, and the words for the checker."""
    parser = Parser(
        prog="ixbackoff check",
        usage="%(prog)s [--checker NAME] [--output-format FORMAT] [ARGUMENT ...] | -",
        description="Run a type checker, and explain its errors about programs: a sentence, a "
        "drawing of the ladder, and what to write. Other output is printed unchanged. All other "
        "arguments, and all behind --, are passed to the checker. mypy runs the plugins that the "
        "configuration in the current folder names: check only code that you trust. With - the "
        "output of a checker is read from standard input: mypy src | ixbackoff check -",
        epilog="Exit status: that of the checker; 2 if it is not installed; with -, 1 if there "
        "are errors. `ixbackoff explain CODE` has a page for each mistake.",
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
    """Run a checker and explain its errors; return its exit status."""
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
    if form in UNCHANGED and b"error" not in printed.lower():
        write(printed)
        return status
    text, errors = explained(printed, form)
    write(text)
    return int(errors) if from_input else status


def explained(printed: bytes, form: str) -> tuple[bytes, bool]:
    """Explain the output of a checker; return the text, and whether it has errors."""
    from .formats import FORMATS  # imported late: a project without errors does not wait for it
    from .reading.checker_output import errors_in
    from .reading.findings import findings, sources

    lines = [line.decode(errors="surrogateescape") for line in printed.splitlines(keepends=True)]
    pieces = list(findings(errors_in(lines), sources(Path())))
    text = "".join(FORMATS[form](pieces)).encode(errors="surrogateescape")
    return text, any(not isinstance(piece, str) for piece in pieces)


def write(text: bytes) -> None:
    """Print bytes unchanged."""
    if sys.stdout is not None:
        sys.stdout.flush()
        sys.stdout.buffer.write(text)
