"""Failures of google-auth.

A failure is transient if google-auth calls it retryable, and so is a `TransportError`, as in
`google.api_core.retry.if_transient_error`: to ask for a token once more does no harm. A certificate
that does not verify and a host that does not exist are permanent failures.
"""

from __future__ import annotations

from typing import Any

from .._words.verdicts import Verdict
from .judging import permanent
from .resending import before, judge_by


def by_itself(failure: Exception, _: Any) -> Verdict:
    return Verdict(True) if getattr(failure, "retryable", False) is True else permanent(failure)


judge = judge_by({"TransportError": before, "GoogleAuthError": by_itself}, {"google"})
