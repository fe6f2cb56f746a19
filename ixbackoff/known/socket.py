"""Failures of `socket` and `ssl`, as the standard library raises them.

A connection that is cut under TLS is transient, like a `ConnectionResetError` without TLS.
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
