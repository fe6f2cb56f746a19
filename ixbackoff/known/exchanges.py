"""Verdicts on failures of HTTP: when the same request may be sent again.

- A failure before the request was sent may pass, unless the host's name does not exist or the
  certificate does not verify.
- A failure after that may pass if the request may be carried out twice: its method is idempotent
  (RFC 9110, 9.2.2), or it has the header `Idempotency-Key`. So it is in urllib3's `Retry`, too,
  which knows nothing of the header.
- The statuses 408, 425, 429 and 503 say that the request was not carried out (RFC 9110, 15.5.9 and
  15.6.4; RFC 8470; RFC 6585), so they may pass after every method. After 500, 502 and 504 nobody
  knows, so they are judged as an answer that was lost. No other status may pass.
- What went before a redirect counts, too: a `POST` that was answered with 303 has been carried out,
  whatever happens to the `GET` that follows it.
"""

from __future__ import annotations

import re
import socket
import ssl
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from .._words.headers import retry_after
from .._words.verdicts import Judge, Verdict
from . import sockets

IDEMPOTENT = frozenset({"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"})
NOT_CARRIED_OUT = frozenset({408, 425, 429, 503})
PERHAPS_CARRIED_OUT = frozenset({500, 502, 504})
KEY = "idempotency-key"
UNKNOWN_NAME = "the name of the host is not known"


class Asked(NamedTuple):
    """A request that a failure belongs to.

    Attributes:
        method: its method, in capital letters.
        keyed: true if it has the header `Idempotency-Key`.
    """

    method: str
    keyed: bool = False

    @property
    def repeatable(self) -> bool:
        """True if the request may be carried out twice."""
        return self.keyed or self.method in IDEMPOTENT


def asked_with(method: Any, headers: Any = None) -> Asked:
    """Return the request that has this method and these headers, as any library keeps them.

    >>> asked_with("post", {"idempotency-key": "5"})
    Asked(method='POST', keyed=True)
    >>> asked_with(b"PUT", [(b"Host", b"nuts.example")])
    Asked(method='PUT', keyed=False)
    """
    pairs = headers.items() if hasattr(headers, "items") else headers or ()
    keyed = any(text(name).lower() == KEY and bool(value) for name, value in pairs)
    return Asked(text(method).upper(), keyed)


def text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def never(failure: Exception) -> Verdict:
    """Judge a failure that another try would meet again."""
    return Verdict(False, why=name_of(failure))


def before(failure: Exception, asked: Sequence[Asked]) -> Verdict:
    """Judge a failure that came before the last of these requests was sent."""
    for cause in behind(failure):
        if hopeless := reason_to_stop(cause):
            return Verdict(False, why=f"{name_of(failure)}: {hopeless}")
    return redirected(name_of(failure), asked) or Verdict(True)


def after(failure: Exception, asked: Sequence[Asked]) -> Verdict:
    """Judge a failure that came when these requests had been sent, or a part of them."""
    return unanswered(name_of(failure), asked)


def answered(
    failure: Exception, status: Any, headers: Mapping[str, str] | None, asked: Sequence[Asked]
) -> Verdict:
    """Judge an answer by its status, with the headers that it has."""
    said = f"{name_of(failure)} {status}"
    if status in NOT_CARRIED_OUT:
        refused = redirected(said, asked)
    elif status in PERHAPS_CARRIED_OUT:
        told = unanswered(said, asked)
        refused = None if told.transient else told
    else:
        refused = Verdict(False, why=said)
    return refused or Verdict(True, None if headers is None else retry_after(headers))


def refused_by_proxy(failure: Exception, asked: Sequence[Asked], said: str) -> Verdict:
    """Judge the words of a proxy that did not connect, by the status in them.

    A proxy that cannot reach the host (502, 504) has not sent the request.
    """
    found = PROXY_STATUS.search(said)
    if found is None:
        return never(failure)
    status = int(found[1])
    if status in NOT_CARRIED_OUT | PERHAPS_CARRIED_OUT:
        return before(failure, asked)
    return Verdict(False, why=f"{name_of(failure)} {status}")


PROXY_STATUS = re.compile(r"^(?:Tunnel connection failed: )?([1-5][0-9]{2})\b")


def unanswered(said: str, asked: Sequence[Asked]) -> Verdict:
    once = [one for one in asked if not one.repeatable]
    if asked and not once:
        return Verdict(True)
    what = f"a {once[0].method}" if once else "a request of an unknown method"
    return Verdict(False, why=f"{said} after {what}, which may have been carried out")


def redirected(said: str, asked: Sequence[Asked]) -> Verdict | None:
    """Refuse if a request before a redirect was carried out; the same method means it was not."""
    earlier = [one for one in asked if one.method != asked[-1].method]
    told = unanswered(said, earlier) if earlier else Verdict(True)
    return None if told.transient else told


def behind(failure: BaseException) -> Iterator[BaseException]:
    """Yield a failure and its causes, as libraries keep them: as cause, reason or argument."""
    waiting: list[Any] = [failure]
    seen: set[int] = set()
    while waiting:
        cause = waiting.pop()
        if isinstance(cause, BaseException) and id(cause) not in seen:
            seen.add(id(cause))
            yield cause
            grouped: Sequence[Any] = getattr(cause, "exceptions", ())
            waiting += [cause.__cause__, getattr(cause, "reason", None), *cause.args, *grouped]


def reason_to_stop(cause: BaseException) -> str:
    """Return why a connection cannot be made, or an empty text if it may be made later."""
    if isinstance(cause, ssl.SSLCertVerificationError):
        return "the certificate does not verify"
    if isinstance(cause, ssl.SSLError) and not sockets.judge(cause).transient:
        return "the two sides do not agree on TLS"
    if isinstance(cause, socket.gaierror) and not sockets.judge(cause).transient:
        return UNKNOWN_NAME
    return ""


def name_of(failure: BaseException) -> str:
    """Return the class of a failure as users write it.

    >>> import http.client
    >>> name_of(http.client.BadStatusLine("")), name_of(KeyError())
    ('http.client.BadStatusLine', 'KeyError')
    """
    kind = failure.__class__
    if kind.__module__ == "builtins":
        return kind.__qualname__
    package = kind.__module__.partition(".")[0]
    short = getattr(sys.modules.get(package), kind.__qualname__, None) is kind
    return f"{package if short else kind.__module__}.{kind.__qualname__}"


Table: TypeAlias = Mapping[str, Judge]
"""From the name of a class to who judges its failures.

Names, since an older version of the library may lack some of the classes.
"""


def judge_by(table: Table, packages: frozenset[str]) -> Callable[[Exception], Verdict]:
    """Return a judge who looks up the nearest of a failure's classes that the table has."""

    def judge(failure: Exception) -> Verdict:
        for base in failure.__class__.__mro__:
            if base.__module__.partition(".")[0] in packages and base.__name__ in table:
                return table[base.__name__](failure)
        return never(failure)

    return judge
