"""Reasons why a service cannot be reached, now or later: failures of `socket` and `ssl`.

Some libraries chain the exception of the operating system or of TLS; others have its text only. A
connection that is cut under TLS is transient, like a `ConnectionResetError` without TLS.
"""

from __future__ import annotations

import socket
import ssl

from .._words.judging import Verdict
from .judge_helpers import permanent

CUT_OFF = ssl.SSLEOFError | ssl.SSLZeroReturnError
UNTRUSTED = "the certificate does not verify"
UNKNOWN_HOST = "the name of the host is not known"

# Words of OpenSSL, BoringSSL, rustls, c-ares and the C libraries.
WORDS = {
    "CERTIFICATE_VERIFY_FAILED": UNTRUSTED,
    "InvalidCertificate": UNTRUSTED,
    "Domain name not found": UNKNOWN_HOST,
    "Name or service not known": UNKNOWN_HOST,
    "No address associated with hostname": UNKNOWN_HOST,
    "nodename nor servname provided": UNKNOWN_HOST,
}


def judge(failure: Exception) -> Verdict:
    later = isinstance(failure, socket.gaierror) and failure.errno == socket.EAI_AGAIN
    return Verdict(True) if later or isinstance(failure, CUT_OFF) else permanent(failure)


def unreachable(failure: BaseException | None) -> str:
    """Return the reason why an address will not work later either; empty if it may work."""
    if isinstance(failure, ssl.SSLCertVerificationError):
        return UNTRUSTED
    if isinstance(failure, socket.gaierror) and failure.errno != socket.EAI_AGAIN:
        return UNKNOWN_HOST
    return ""


def misaddressed(failure: BaseException) -> str:
    """Do what `unreachable` does, for a failure, its cause and its context."""
    for cause in (failure, failure.__cause__, failure.__context__):
        if reason := unreachable(cause):
            return reason
    return ""


def unreachable_by_text(text: str) -> str:
    """Do what `unreachable` does, for the text of a failure."""
    return next((reason for words, reason in WORDS.items() if words in text), "")
