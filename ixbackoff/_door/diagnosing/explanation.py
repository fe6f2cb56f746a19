"""An explanation, which replaces the message of a checker."""

from __future__ import annotations

from typing import NamedTuple

from .ladder_drawing import Sketch


class Explanation(NamedTuple):
    code: str  # `ixbackoff explain CODE` prints its page
    sentence: str
    fix: str
    ladder: Sketch | None = None
    severity: str = "error"
