"""An explanation, which replaces the message of a checker."""

from __future__ import annotations

from typing import NamedTuple

from .ladder_drawing import Sketch


class Explanation(NamedTuple):
    """The replacement of a message; `ixbackoff explain CODE` prints the page of `code`."""

    code: str
    sentence: str
    fix: str
    ladder: Sketch | None = None
    severity: str = "error"
