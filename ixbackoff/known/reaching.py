"""Why a service was not reached, where the reason is one that stays."""

from __future__ import annotations

import socket
import ssl


def wrongly_addressed(failure: BaseException) -> str:
    """Return why a service cannot be reached at this address, empty if it may be later.

    The libraries make one exception of all reasons why they could not connect, and keep what
    the operating system said as its cause.

    >>> wrongly_addressed(socket.gaierror(socket.EAI_NONAME, "Name or service not known"))
    ' to a host that is not known'
    >>> wrongly_addressed(ConnectionRefusedError())
    ''
    """
    for reason in (failure, failure.__cause__, failure.__context__):
        if isinstance(reason, ssl.SSLCertVerificationError):
            return " to a service whose certificate does not verify"
        if isinstance(reason, socket.gaierror) and reason.errno != socket.EAI_AGAIN:
            return " to a host that is not known"
    return ""
