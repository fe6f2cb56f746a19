"""The pages of the mistakes, by code; the site shows the same file."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple


class Page(NamedTuple):
    """The page of a mistake.

    Attributes:
        code: the code of the mistake.
        title: the mistake in one sentence.
        text: the page in Markdown, without its heading.
    """

    code: str
    title: str
    text: str


@cache
def pages() -> dict[str, Page]:
    """Read all pages, by code."""
    text = Path(__file__).with_name("mistakes.md").read_text(encoding="utf-8")
    found: dict[str, Page] = {}
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        code, _, body = part.partition("\n")
        title, _, _ = body.strip().partition("\n\n")
        found[code] = Page(code, " ".join(title.split()), body.strip())
    return found
