"""Failures of the standard library's ftplib.

A reply of 400 to 499 (`error_temp`) is transient: the action did not take place, and may be
requested again (RFC 959, section 4.2.1).
"""

from __future__ import annotations

import ftplib

from .._words.verdicts import Verdict
from .judging import permanent


def judge(failure: Exception) -> Verdict:
    if isinstance(failure, ftplib.error_temp):
        return Verdict(True)
    code = str(failure)[:3]
    return permanent(failure, f" {code}") if code.isdigit() else permanent(failure)
