"""The switch of all retries of this process."""

from __future__ import annotations

import os

from .._meaning.retrying import ONE_TRY
from .._words.logger import default_logger

OFF = "ixbackoff.enabled(False)"


def enabled(on: bool) -> None:
    """Switch the retries of this process off, for instance in an outage, or on again.

    While they are off, every program, function and block tries once, and the log says so once. A
    retry that has already waited continues, and a `.wait()` still waits. The environment variable
    `IXBACKOFF_ENABLED=0` switches them off from the start.

    >>> from ixbackoff import enabled
    >>> enabled(True)
    """
    if on:
        ONE_TRY[:] = [one for one in ONE_TRY if one != OFF]
    elif OFF not in ONE_TRY:
        ONE_TRY.append(OFF)
        default_logger().warning("%s: every ladder tries once", OFF)


if os.environ.get("IXBACKOFF_ENABLED") == "0":
    enabled(False)
