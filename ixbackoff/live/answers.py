"""Failures of web servers, by the status and the headers of an answer."""

from __future__ import annotations

from collections.abc import Mapping

from .._words.failures import ClientError, ServerError, Throttled
from .._words.headers import retry_after
from .refusals import RedirectError

WORTH_ANOTHER_TRY = frozenset({408, 425})
THROTTLED = 429


def failure_of_status(status: int, headers: Mapping[str, str], asked: str) -> Exception | None:
    """Return the failure that a status stands for, or `None` for a success.

    Args:
        status: the status of the answer.
        headers: the headers of the answer.
        asked: the method and the URL, without secrets.
    """
    failure: Exception
    if 200 <= status < 300 and status != 206:
        return None
    if status == THROTTLED:
        failure = Throttled(retry_after(headers))
    elif status >= 500 or status in WORTH_ANOTHER_TRY:
        failure = ServerError(status, retry_after(headers))
    elif status >= 400:
        failure = ClientError(status)
    elif status >= 300:
        return RedirectError(f"{asked}: the server answered {status}, a redirect without a place")
    else:
        return ConnectionError(f"{asked}: the server answered {status}, which no client asked for")
    failure.add_note(asked)
    return failure
