"""Failures of httpx and httpx2, and of httpcore and httpcore2 beneath them.

A failure of httpcore does not name its request. That request, and those before a redirect, are read
from the traceback. A request of which a part was sent (`WriteError`) may have been carried out. The
`POST` of a language model's SDK may be repeated after any lost answer (see `language_models`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .._words.judging import Verdict
from . import http_statuses as http
from .judge_helpers import frames, variables

MODELS = ("anthropic.", "cohere.", "google.genai.", "groq.", "mistralai.", "openai.")
SENDING = {(f"{package}._client", "send") for package in ("httpx", "httpx2")} | {
    (f"{package}.{place}", function)
    for package in ("httpcore", "httpcore2")
    for place, function in (
        ("_sync.connection_pool", "handle_request"),
        ("_async.connection_pool", "handle_async_request"),
        ("_sync.interfaces", "request"),
        ("_async.interfaces", "request"),
    )
}


def requests_of(failure: Exception) -> list[http.SentRequest]:
    distinct = {id(request): request for request in sent(failure)}
    return [http.sent_request(request.method, request.headers) for request in distinct.values()]


def sent(failure: Exception) -> Iterator[Any]:
    for found in variables(failure, SENDING):
        if "request" in found:
            yield found["request"]
    answer = getattr(failure, "response", None)
    for earlier in getattr(answer, "history", ()):
        yield from own_request(earlier)
    yield from own_request(failure)
    yield from own_request(answer)  # a failure of huggingface_hub has no request of its own


def own_request(owner: Any) -> Iterator[Any]:
    try:
        request = getattr(owner, "request", None)
    except RuntimeError:  # the exception was made without a request
        return
    if request is not None:
        yield request


def by_proxy(failure: Exception, asked: Sequence[http.SentRequest]) -> Verdict:
    return http.refused_by_proxy(failure, asked, str(failure))


def broken_off(failure: Exception, asked: Sequence[http.SentRequest]) -> Verdict:
    verdict = http.after(failure, asked)
    if verdict.transient:
        return verdict
    modules = [frame.f_globals.get("__name__", "") for frame in frames(failure)]
    return Verdict(True) if any(name.startswith(MODELS) for name in modules) else verdict


judge = http.judge_by(
    {
        "ConnectError": http.before,
        "ConnectTimeout": http.before,
        "PoolTimeout": http.before,
        "ProxyError": by_proxy,
        "NetworkError": broken_off,
        "TimeoutException": broken_off,
        "RemoteProtocolError": broken_off,
        "HTTPError": http.by_response,  # failures with an answer, also of huggingface_hub
    },
    {"httpx", "httpx2", "httpcore", "httpcore2"},
    requests_of,
)
