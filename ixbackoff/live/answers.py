"""Failures of web servers, by the status and the headers of an answer."""

from __future__ import annotations

from collections.abc import Mapping

from .._words.failures import ClientError, NotReady, ServerError, Throttled
from .._words.headers import retry_after
from .refusals import RedirectError

WORTH_ANOTHER_TRY = frozenset({408, 425})
THROTTLED = 429
ACCEPTED = 202
PORTS = range(1, 65536)
LONGEST_LABEL = 63


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


def failure_without_content(status: int, asked: str) -> Exception | None:
    """Return the failure that a success without content stands for, or `None` for other statuses.

    Args:
        status: the status of the answer to a `GET` request.
        asked: the method and the URL, without secrets.
    """
    if status == ACCEPTED:
        return NotReady(f"{asked}: the server answered 202: it is not there yet")
    if status in (204, 205):
        return FileNotFoundError(f"{asked}: the server answered {status}: there is no content")
    return None


def check_host(host: bytes, where: str) -> None:
    """Check the host of a URL.

    Raises:
        ValueError: there cannot be such a name.
    """
    if not all(1 <= len(label) <= LONGEST_LABEL for label in host.removesuffix(b".").split(b".")):
        raise ValueError(
            f"{where}: its host, or that of a redirect, is not a name: between points there are 1 "
            f"to {LONGEST_LABEL} letters."
        )


def check_port(port: int | None, where: str) -> None:
    """Check the port of a URL.

    Raises:
        ValueError: there cannot be such a port.
    """
    if port is not None and port not in PORTS:
        raise ValueError(f"{where}: {port} is not a port: give one from 1 to 65535.")
