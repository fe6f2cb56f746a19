"""Values as short texts, the same in each run."""

from __future__ import annotations

from typing import Any

from ..virtual import stable

SHORT = 64


def short(value: Any, most: int = SHORT) -> str:
    """Write a value in so many characters, without its middle if it is longer.

    >>> short("x" * 20, 12)
    "'xxxx..xxxx'"
    """
    text = " ".join(stable(repr(value)).split())
    return text if len(text) <= most else f"{text[: most // 2 - 1]}..{text[-(most // 2) + 1 :]}"
