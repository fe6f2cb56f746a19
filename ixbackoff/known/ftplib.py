"""Failures of the standard library's ftplib.

A reply of 400 to 499 (`error_temp`) may pass: the action did not take place, and may be requested
again (RFC 959, section 4.2.1).
"""

from __future__ import annotations

import ftplib

from .._words.verdicts import Verdict
from .exchanges import name_of


def judge(failure: Exception) -> Verdict:
    """Judge a failure of ftplib, by its class."""
    if isinstance(failure, ftplib.error_temp):
        return Verdict(True)
    code = str(failure)[:3]
    return Verdict(False, why=f"{name_of(failure)} {code}" if code.isdigit() else name_of(failure))
