"""`python -m ixbackoff check`: the errors of a type checker, explained."""

from __future__ import annotations

import sys
from pathlib import Path

from .._commandline import WRONG, Parser
from .checkers import CHECKERS, NothingGiven, NotInstalled, command, output

KEPT = ("full", "concise")
"""The formats that leave what is not explained as the checker prints it."""
FORMS = (*KEPT, "json", "github", "sarif")


def parsed(words: list[str]) -> tuple[str, str, list[str]]:
    """Read the checker, the format, and the words that are for the checker."""
    parser = Parser(
        prog="python -m ixbackoff check",
        usage="%(prog)s [--checker NAME] [--output-format FORMAT] [ARGUMENT ...] | -",
        description="Run a type checker, and explain its errors about programs in one sentence, "
        "with a drawing of the ladder and a fix. Everything else is printed as it comes. The other "
        "arguments, all behind --, are the checker's own: files, folders, its options. With - in "
        "their place the output of a checker is read: mypy src | python -m ixbackoff check -",
        epilog="Exit status: the checker's; 2 if it is not installed; with -, 1 if there are "
        "errors. `python -m ixbackoff explain CODE` tells more of a mistake.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--checker", choices=CHECKERS, default="mypy", help="the checker (default: %(default)s)"
    )
    parser.add_argument(
        "--output-format", choices=FORMS, default="full", help="the format (default: %(default)s)"
    )
    cut = words.index("--") if "--" in words else len(words)
    own, rest = parser.parse_known_args(words[:cut])
    return own.checker, own.output_format, [*rest, *words[cut + 1 :]]


def main(words: list[str]) -> int:
    """Run the command, and return the exit status of the checker."""
    name, form, rest = parsed(words)
    from_input = rest == ["-"]
    try:
        printed, status = read() if from_input else run(name, rest, form)
    except (NotInstalled, NothingGiven) as error:
        print(error, file=sys.stderr)
        return WRONG
    if form in KEPT and b"error" not in printed.lower():
        write(printed)
        return status
    text, errors = explained(printed, form)
    write(text)
    return int(errors) if from_input else status


def explained(printed: bytes, form: str) -> tuple[bytes, bool]:
    """Explain what a checker printed; also return whether there are errors."""
    from .formats import FORMATS  # a project without errors is not kept waiting for these
    from .reading.checker_output import errors_in
    from .reading.findings import findings, sources

    lines = [line.decode(errors="surrogateescape") for line in printed.splitlines(keepends=True)]
    pieces = list(findings(errors_in(lines), sources(Path())))
    text = "".join(FORMATS[form](pieces)).encode(errors="surrogateescape")
    return text, any(not isinstance(piece, str) for piece in pieces)


def run(name: str, words: list[str], form: str) -> tuple[bytes, int]:
    """Run the checker."""
    return output(command(name, words, plainly=form not in KEPT))


def read() -> tuple[bytes, int]:
    """Read what a checker has printed."""
    return (sys.stdin.buffer.read() if sys.stdin else b""), 0


def write(text: bytes) -> None:
    """Print a text byte for byte as it was read."""
    if sys.stdout is not None:
        sys.stdout.flush()
        sys.stdout.buffer.write(text)
