"""Failures of the standard library's smtplib.

A reply of 400 to 499 is transient, one of 500 and above permanent (RFC 5321, section 4.2.1). A lost
connection is transient: by the standard a client treats it as a reply of 451 (section 3.8), so a
mail can arrive twice if the server is lost between the end of the mail and its reply.

The reply to `QUIT` arrives after the work of a `with` block, so its failure does not repeat the
work.
"""

from __future__ import annotations

import smtplib
from collections.abc import Iterable
from typing import Any

from .._words import verdicts
from .._words.verdicts import Verdict
from .judging import permanent
from .tracebacks import variables

NOT_CONNECTED = "please run connect() first"
LEAVING = {("smtplib", "__exit__")}


def judge(failure: Exception) -> Verdict:
    """Judge a failure of smtplib, by the codes of the server's replies."""
    for found in variables(failure, LEAVING):
        return judge_leaving(failure, found.get("args"))
    if isinstance(failure, smtplib.SMTPServerDisconnected):
        if str(failure) == NOT_CONNECTED:
            return permanent(failure, ": connect anew in each try")
        return Verdict(True)
    codes = [code for code in codes_of(failure) if isinstance(code, int)]
    # Nothing was sent to anyone: one recipient with a transient refusal is worth another try.
    if any(400 <= code <= 499 for code in codes):
        return Verdict(True)
    shown = "".join(sorted({f" {code}" for code in codes}))
    return permanent(failure, shown) if shown else permanent(failure)


def judge_leaving(failure: Exception, left_with: Any) -> Verdict:
    """Judge a reply to `QUIT` by the failure with which the block was left, if there was one."""
    for cause in left_with or ():
        if isinstance(cause, Exception):
            return verdicts.judge(cause)
    return permanent(failure, " after QUIT, when all had been done")


def codes_of(failure: Exception) -> Iterable[object]:
    recipients: Any = getattr(failure, "recipients", None)
    if not hasattr(recipients, "values"):
        return [getattr(failure, "smtp_code", None)]
    replies: Iterable[Any] = recipients.values()
    return [reply[0] for reply in replies if hasattr(reply, "__getitem__")]
