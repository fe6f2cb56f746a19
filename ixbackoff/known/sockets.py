"""Failures of `socket` and `ssl`, as the standard library raises them.

A name that cannot be looked up just now (`EAI_AGAIN`) may pass; a name that does not exist does
not. A connection that ends under TLS (`SSLEOFError`, `SSLZeroReturnError`) is what a
`ConnectionResetError` is without TLS, and may pass as that does. Everything else that TLS says is
about keys, certificates or versions, and stays so.
"""

from __future__ import annotations

import socket
import ssl

from .._words.verdicts import Verdict

CUT_OFF = ssl.SSLEOFError | ssl.SSLZeroReturnError


def judge(failure: Exception) -> Verdict:
    if isinstance(failure, CUT_OFF):
        return Verdict(True)
    if isinstance(failure, socket.gaierror) and failure.errno == socket.EAI_AGAIN:
        return Verdict(True)
    kind = failure.__class__
    return Verdict(False, why=f"{kind.__module__}.{kind.__qualname__}")
