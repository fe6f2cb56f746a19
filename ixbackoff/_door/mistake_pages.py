"""`ixbackoff explain CODE`: the page of a mistake, from `mistakes.md`, which the site shows too."""

from __future__ import annotations

import re
import sys
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import NamedTuple

from .._argument_parser import WRONG, Parser
from .._words.printable_text import printable


class Page(NamedTuple):
    """The page of a mistake: its title in one sentence, and its Markdown without the heading."""

    code: str
    title: str
    text: str


@cache
def pages() -> dict[str, Page]:
    text = Path(__file__).with_name("mistakes.md").read_text(encoding="utf-8")
    found: dict[str, Page] = {}
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        code, _, body = part.partition("\n")
        title, _, _ = body.strip().partition("\n\n")
        found[code] = Page(code, " ".join(title.split()), body.strip())
    return found


def main(words: list[str]) -> int:
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
        print(f"{printable(code)} is not the code of a mistake: {perhaps}", file=sys.stderr)
        return WRONG
    print(f"# {code}\n\n{known[code].text}")
    return 0
