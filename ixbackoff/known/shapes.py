"""Failures of libraries without a module here, and `OSError`s, judged by a status or a cause.

The number in `code` is not read: it can mean anything. A `__context__` counts as a cause only if it
was caught inside of the same try. If an `except` block calls a function that is retried, the
`__context__` of its failures is the exception that the block handles, which did not cause them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from .._words import judging
from .._words.headers import READ
from .._words.judging import Verdict
from .judge_helpers import frames, name_of

if TYPE_CHECKING:
    from .http_statuses import SentRequest

STATUSES = ("status_code", "http_status", "status")
# Attributes with the answer; the last three are of mistralai, googleapiclient and elasticsearch.
ANSWERS = ("response", "raw_response", "resp", "meta")
AZURE_CAUSE = "inner_exception"  # an attribute of azure-core
SHOWN = frozenset((*STATUSES, *ANSWERS, AZURE_CAUSE, "__getattr__"))
LONGEST_CHAIN = 10


def judge(failure: Any) -> Verdict:
    if computes(failure.__class__) or not SHOWN.isdisjoint(failure.__dict__):
        if (status := status_of(failure)) is not None:
            return by_status(failure, status)
    elif failure.__context__ is None and failure.__cause__ is None:
        return judging.never_transient(failure)
    return by_cause(failure)


@lru_cache(1000)
def computes(kind: Any) -> bool:
    """Return whether failures of a class may have attributes that their dictionaries lack."""
    intercepts = kind.__getattribute__ is not Exception.__getattribute__
    return intercepts or any(hasattr(kind, name) for name in SHOWN)


def by_cause(failure: Exception) -> Verdict:
    """Judge a failure by the nearest of its causes that is known, or has a status."""
    cause = cause_of(failure)
    for _ in range(LONGEST_CHAIN):
        if not isinstance(cause, Exception):
            break
        kind = cause.__class__
        known = judging.FOUND.get(kind) or judging.judge_of(kind)
        if known is judging.never_transient:
            break
        if known is not judge:
            found = judging.judge(cause)
        elif (status := status_of(cause)) is not None:
            found = by_status(cause, status)
        else:
            cause = cause_of(cause)
            continue
        if found.transient:
            return found
        if found == judging.never_transient(cause):
            break
        return Verdict(False, why=f"{name_of(failure)}: {found.why}")
    return judging.never_transient(failure)


def cause_of(failure: Any) -> BaseException | None:
    """Return the cause of a failure, or its context if it was caught within the same try."""
    cause: BaseException | None = failure.__cause__ or quietly(failure, AZURE_CAUSE)
    context = failure.__context__
    if cause is not None or context is None or failure.__suppress_context__:
        return cause
    caught = context.__traceback__
    if caught is None or failure.__class__.__module__ == "builtins":
        return None
    return context if caught.tb_frame in frames(failure) else None


def by_status(failure: Exception, status: int) -> Verdict:
    from .http_statuses import answered

    return answered(failure, status, headers_of(failure), requests_of(failure))


def status_of(failure: object) -> int | None:
    """Return the status of a failure or of its answer, from 400 to 599, or `None`."""
    with suppress(Exception):  # a property may raise any
        for owner in owners(failure):
            for name in STATUSES:
                status = getattr(owner, name, None)
                if isinstance(status, int) and 400 <= status <= 599:
                    return int(status)
    return None


def headers_of(failure: object) -> dict[str, str]:
    """Return the headers of the answer, by their `canonical` names."""
    for owner in owners(failure):
        headers: Any = quietly(owner, "headers") or owner  # httplib2's answer is a dict of headers
        with suppress(Exception):  # `headers` of a mock can be anything
            return canonical(headers)
    return {}


def canonical(headers: Mapping[Any, Any]) -> dict[str, str]:
    """Return headers by name in lower case, and those in `READ` also by the spelling in `READ`."""
    lower = {str(name).lower(): str(value) for name, value in headers.items()}
    return {name: lower[name.lower()] for name in READ if name.lower() in lower} | lower


def requests_of(failure: object) -> list[SentRequest]:
    from .http_statuses import sent_request

    for owner in owners(failure):
        for request in (quietly(owner, "request"), quietly(owner, "request_info"), owner):
            method: Any = quietly(request, "method")
            if isinstance(method, str) and method.isalpha():
                return [sent_request(method, quietly(request, "headers"))]
    return []


def owners(failure: object) -> Iterator[object]:
    yield failure
    for name in ANSWERS:
        answer = quietly(failure, name)
        if answer is not None:
            yield answer


def quietly(owner: object, name: str) -> Any:
    """Return an attribute; `None` if there is none, or if it is a property that raises."""
    try:
        return getattr(owner, name, None)
    except Exception:
        return None
