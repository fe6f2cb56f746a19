"""Verdicts on failures of HTTP: when the same request may be sent again.

- The statuses 408, 425, 429 and 503 mean that the request was not carried out (RFC 9110, 15.5.9 and
  15.6.4; RFC 8470; RFC 6585). 500, 502 and 504 leave open whether it was, as do Cloudflare's 520 to
  524 and Anthropic's 529.
- A request whose method is idempotent (RFC 9110, 9.2.2), or that has the header `Idempotency-Key`,
  may be carried out twice.
- The requests before a redirect count, too: a `POST` that was answered with 303 has been carried
  out, whatever happens to the `GET` that follows it.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from .._words import judging
from .._words.headers import is_forbidden, retry_after
from .._words.judging import Verdict
from .judge_helpers import name_of, permanent
from .unreachable import CUT_OFF, unreachable

IDEMPOTENT = frozenset({"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"})
NOT_CARRIED_OUT = frozenset({408, 425, 429, 503})
PERHAPS_CARRIED_OUT = frozenset({500, 502, 504, *range(520, 525), 529})
KEY = "idempotency-key"
PROXY_STATUS = re.compile(r"^(?:Tunnel connection failed: )?([1-5][0-9]{2})\b")


class SentRequest(NamedTuple):
    """A request that led to a failure; `keyed` if only `Idempotency-Key` makes it repeatable."""

    method: str
    keyed: bool = False

    @property
    def repeatable(self) -> bool:
        return self.keyed or self.method in IDEMPOTENT


def sent_request(method: Any, headers: Any = None) -> SentRequest:
    """Return the request with a method and headers, which may have the types of any library.

    >>> sent_request("post", {"idempotency-key": "5"})
    SentRequest(method='POST', keyed=True)
    >>> sent_request(b"PUT", [(b"Host", b"nuts.example")])
    SentRequest(method='PUT', keyed=False)
    """
    name = text(method).upper()
    if name in IDEMPOTENT:  # a search for the key takes microseconds
        return SentRequest(name)
    pairs = headers.items() if hasattr(headers, "items") else headers or ()
    return SentRequest(name, any(text(key).lower() == KEY and bool(value) for key, value in pairs))


def text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def never(failure: Exception, _: Sequence[SentRequest]) -> Verdict:
    return permanent(failure)


def before(failure: Exception, asked: Sequence[SentRequest]) -> Verdict:
    """Judge a failure that occurred before the last request in `asked` was sent."""
    reason = reason_to_stop(failure)
    if reason:
        return permanent(failure, f": {reason}")
    return redirected(name_of(failure), asked) or Verdict(True)


def before_or_never(failure: Exception, asked: Sequence[SentRequest]) -> Verdict:
    """Judge a permanent failure, with the reason that `before` finds, if any."""
    verdict = before(failure, asked)
    return permanent(failure) if verdict.transient else verdict


def after(failure: Exception, asked: Sequence[SentRequest]) -> Verdict:
    """Judge a failure that occurred after the requests in `asked`, or parts of them, were sent."""
    return unanswered(name_of(failure), asked)


def answered(
    failure: Exception, status: Any, headers: Mapping[str, str] | None, asked: Sequence[SentRequest]
) -> Verdict:
    label = f"{name_of(failure)} {status}"
    if status in NOT_CARRIED_OUT:
        verdict = redirected(label, asked)
    elif status in PERHAPS_CARRIED_OUT:
        verdict = unanswered(label, asked)
    else:
        verdict = permanent(failure, f" {status}")
    if verdict is not None and not verdict.transient:
        return verdict
    if is_forbidden(headers or {}):
        return Verdict(False, why=f"{label}: the service says not to try again")
    return Verdict(True, None if headers is None else retry_after(headers))


def by_response(failure: Any, asked: Sequence[SentRequest]) -> Verdict:
    """Judge a failure by its `response`, an attribute in httpx and requests."""
    answer = getattr(failure, "response", None)
    if answer is None:
        return permanent(failure)
    return answered(failure, answer.status_code, answer.headers, asked)


def refused_by_proxy(failure: Exception, asked: Sequence[SentRequest], said: str) -> Verdict:
    """Judge by the status in `said`, a proxy's text; the proxy has not passed the request on."""
    found = PROXY_STATUS.search(said)
    if found is None:
        return permanent(failure)
    status = int(found[1])
    if status in NOT_CARRIED_OUT | PERHAPS_CARRIED_OUT:
        return before(failure, asked)
    return permanent(failure, f" {status}")


def unanswered(label: str, asked: Sequence[SentRequest]) -> Verdict:
    once = [request for request in asked if not request.repeatable]
    if asked and not once:
        return Verdict(True)
    what = f"a {once[0].method}" if once else "a request of an unknown method"
    return Verdict(False, why=f"{label} after {what}, which may have been carried out")


def redirected(label: str, asked: Sequence[SentRequest]) -> Verdict | None:
    """Judge by the requests before a redirect; return `None` if they allow another try.

    A redirect that keeps the method, as 307 and 308 do, answers a request that is not carried out.
    """
    earlier = [request for request in asked if request.method != asked[-1].method]
    verdict = unanswered(label, earlier) if earlier else Verdict(True)
    return None if verdict.transient else verdict


def behind(failure: object) -> Iterator[BaseException]:
    """Yield a failure and all causes behind it: `__cause__`, `reason`, arguments, members."""
    waiting: list[Any] = [failure]
    seen: set[int] = set()
    while waiting:
        cause = waiting.pop()
        if isinstance(cause, BaseException) and id(cause) not in seen:
            seen.add(id(cause))
            yield cause
            grouped: Sequence[Any] = getattr(cause, "exceptions", ())
            waiting += [cause.__cause__, getattr(cause, "reason", None), *cause.args, *grouped]


def reason_to_stop(failure: Any) -> str:
    """Return the reason why no connection can be made later either; empty if one may be made."""
    for cause in behind(failure):
        if reason := unreachable(cause):
            return reason
        if isinstance(cause, ssl.SSLError) and not isinstance(cause, CUT_OFF):
            return "the two sides do not agree on TLS"
    return ""


Judging: TypeAlias = Callable[[Any, Sequence[SentRequest]], Verdict]
"""A function that judges a failure, given the requests of the failure, the earliest first."""


def by_attribute(*names: str) -> Judging:
    """Return a function that judges by the failure in the first of `names` that is set."""

    def rule(failure: Any, _: Sequence[SentRequest]) -> Verdict:
        cause = next(filter(None, (getattr(failure, name, None) for name in names)), None)
        return judging.judge(cause) if isinstance(cause, Exception) else permanent(failure)

    return rule


def judge_by(
    table: Mapping[str, Judging],
    packages: Collection[str],
    requests_of: Callable[[Any], Sequence[SentRequest]] = lambda _: (),
    others: Judging = never,
) -> Callable[..., Verdict]:
    """Return a judge of failures of `packages`, by the nearest base class in `table`.

    `others` judges failures without such a base class. The judge takes a failure, and the requests
    that the failure belongs to, if they are known.
    """

    def judge(failure: Exception, asked: Sequence[SentRequest] | None = None) -> Verdict:
        bases = (
            base.__name__
            for base in failure.__class__.__mro__
            if base.__module__.partition(".")[0] in packages
        )
        rule = next((table[name] for name in bases if name in table), others)
        return rule(failure, requests_of(failure) if asked is None else asked)

    return judge
