"""`ixbackoff explain CODE`: the page of a mistake."""

from __future__ import annotations

import sys
from difflib import get_close_matches

from .._commandline import WRONG, Parser
from .pages import pages


def main(words: list[str]) -> int:
    """Print the page of a code, or list all codes."""
    parser = Parser(
        prog="ixbackoff explain",
        description="Explain a mistake that `ixbackoff check` reports, and what to write instead; "
        "without a code, list all mistakes.",
    )
    parser.add_argument("code", nargs="?", metavar="CODE", help="such as no-wait-left")
    code: str | None = parser.parse_args(words).code
    known = pages()
    if code is None:
        width = max(map(len, known)) + 2
        print(*(f"{page.code:{width}}{page.title}" for page in known.values()), sep="\n")
        return 0
    code = code.strip("[]").removeprefix("ixbackoff/")
    if code not in known:
        near = get_close_matches(code, known, 1)
        perhaps = f"did you mean {near[0]}?" if near else "`ixbackoff explain` lists them."
        print(f"{code} is not the code of a mistake: {perhaps}", file=sys.stderr)
        return WRONG
    print(f"# {code}\n\n{known[code].text}")
    return 0
