"""`python -m ixbackoff explain CODE`: a mistake by its code."""

from __future__ import annotations

import sys
from difflib import get_close_matches

from .._commandline import WRONG, Parser
from .pages import page, pages


def main(words: list[str]) -> int:
    """Print the page of a code, or list all codes."""
    parser = Parser(
        prog="python -m ixbackoff explain",
        description="Say what a mistake is that `python -m ixbackoff check` reports, and how to "
        "write it; without a code, list all mistakes.",
    )
    parser.add_argument("code", nargs="?", metavar="CODE", help="such as no-wait-left")
    code: str | None = parser.parse_args(words).code
    if code is None:
        width = max(map(len, pages())) + 2
        print(*(f"{one.code:{width}}{one.title}" for one in pages().values()), sep="\n")
        return 0
    code = code.strip("[]").removeprefix("ixbackoff/")
    if code not in pages():
        near = get_close_matches(code, pages(), 1)
        perhaps = (
            f"did you mean {near[0]}?" if near else "`python -m ixbackoff explain` lists them."
        )
        print(f"{code} is not a code of a mistake: {perhaps}", file=sys.stderr)
        return WRONG
    print(f"# {code}\n\n{page(code).text}")
    return 0
