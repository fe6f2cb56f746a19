"""Causes that last, by the words of the libraries that resolve names and verify certificates.

Some libraries tell a failure to connect by its text only.
"""

from __future__ import annotations

UNTRUSTED = "the certificate does not verify"
UNKNOWN_HOST = "the name of the host is not known"

WORDS = {
    "CERTIFICATE_VERIFY_FAILED": UNTRUSTED,
    "InvalidCertificate": UNTRUSTED,
    "Domain name not found": UNKNOWN_HOST,
    "Name or service not known": UNKNOWN_HOST,
    "No address associated with hostname": UNKNOWN_HOST,
    "nodename nor servname provided": UNKNOWN_HOST,
}
"""From words of OpenSSL, BoringSSL, rustls, c-ares and the C libraries to what they say."""


def lasting(text: str) -> str | None:
    """Return the cause in a text that will not pass by itself, or `None`.

    >>> lasting("[Errno -2] Name or service not known")
    'the name of the host is not known'
    """
    return next((cause for words, cause in WORDS.items() if words in text), None)
