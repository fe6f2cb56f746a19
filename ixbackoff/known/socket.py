"""Failures of `socket` and `ssl`, as the standard library raises them.

A name that cannot be looked up at the moment (`EAI_AGAIN`) may pass; a name that does not exist
does not. A connection that is cut under TLS (`SSLEOFError`, `SSLZeroReturnError`) may pass, as a
`ConnectionResetError` does without TLS. Every other error of TLS is about keys, certificates or
versions, and stays.
"""

from __future__ import annotations

import socket
import ssl

from .._words.verdicts import Verdict
from .judging import permanent

CUT_OFF = ssl.SSLEOFError | ssl.SSLZeroReturnError


def judge(failure: Exception) -> Verdict:
    later = isinstance(failure, socket.gaierror) and failure.errno == socket.EAI_AGAIN
    return Verdict(True) if later or isinstance(failure, CUT_OFF) else permanent(failure)
