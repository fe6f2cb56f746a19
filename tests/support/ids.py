"""Names of parameters that are the same in every process."""

from __future__ import annotations

import re


def shown(value: object) -> str:
    """Return the `repr` of a value, without the addresses of objects in it."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))
