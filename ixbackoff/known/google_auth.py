"""Failures of google-auth.

Those may pass that it calls retryable, and a `TransportError`, as in
`google.api_core.retry.if_transient_error`: to ask for a token once more does no harm. A certificate
that does not verify and a host that does not exist do not.
"""

from __future__ import annotations

from .._words.verdicts import Verdict
from .exchanges import before, judge_by, never


def unsent(failure: Exception) -> Verdict:
    return before(failure, [])


def by_itself(failure: Exception) -> Verdict:
    return Verdict(True) if getattr(failure, "retryable", False) is True else never(failure)


judge = judge_by({"TransportError": unsent, "GoogleAuthError": by_itself}, frozenset({"google"}))
