"""Failures of botocore, and so of boto3 and s3transfer; `known/aws.py` has the codes.

An operation may be repeated if its method is idempotent, or if its name is that of a read, because
most of AWS's interfaces send everything as `POST`. The token (`ClientToken`) by which botocore
protects some operations does not help: each try of a program is another call, with a new token.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from .._words.judging import Verdict
from . import aws
from . import http_statuses as http
from .judge_helpers import permanent, variables
from .shapes import canonical
from .urllib3 import wrapped

CALLING = {(f"{package}.client", "_make_api_call") for package in ("aiobotocore", "botocore")}
READING = {("botocore.response", "read"), ("botocore.response", "readinto")}
READS = re.compile(r"((Batch|Transact)?Get|Describe|Head|List|Query|Scan|Search)(?![a-z])")
MILLISECONDS = re.compile(r"[0-9]{1,9}", re.ASCII)
TOO_MANY_REQUESTS = 429


def requests_of(failure: Exception) -> list[http.SentRequest]:
    """Return the requests, with the method `GET` for an operation that only reads."""
    asked: list[http.SentRequest] = []
    for found in variables(failure, CALLING):
        operation = str(found.get("operation_name", ""))
        request = part(found, "request_dict")
        sent = http.sent_request(request.get("method", ""), request.get("headers"))
        if READS.match(operation):
            asked.append(http.SentRequest("GET"))
        else:
            asked.append(
                sent if sent.repeatable else http.SentRequest(f"{sent.method} of {operation}")
            )
    for found in variables(failure, READING):
        stream = getattr(found.get("self"), "_raw_stream", None)
        method = getattr(getattr(stream, "_original_response", None), "_method", None)
        if method:
            asked.append(http.sent_request(method))
    return asked


def part(whole: Any, name: str) -> Mapping[str, Any]:
    """Return a mapping within a mapping, or an empty one if that is missing."""
    found: Any = whole.get(name) if hasattr(whole, "get") else None
    empty: Mapping[str, Any] = {}
    return found if hasattr(found, "get") else empty


def unsent(failure: Exception, _: Sequence[http.SentRequest]) -> Verdict:
    reason = http.reason_to_stop(error_of(failure))
    return permanent(failure, f": {reason}") if reason else Verdict(True)


def by_urllib3(failure: Exception, asked: Sequence[http.SentRequest]) -> Verdict:
    error = error_of(failure)
    if not isinstance(error, Exception):
        return http.after(failure, asked)
    verdict = unsent(failure, asked)
    return wrapped(failure, error, asked) if verdict.transient else verdict


def error_of(failure: Exception) -> Any:
    """Return the failure of the HTTP client that botocore's failure wraps; `None` without one."""
    return part(vars(failure), "kwargs").get("error")


def by_error(failure: Exception, asked: Sequence[http.SentRequest]) -> Verdict:
    return (http.after if isinstance(error_of(failure), OSError) else http.never)(failure, asked)


def by_answer(failure: Exception, asked: Sequence[http.SentRequest]) -> Verdict:
    return judge_answer(failure, getattr(failure, "response", None), asked)


def judge_answer(failure: Exception, answer: Any, asked: Sequence[http.SentRequest]) -> Verdict:
    metadata = part(answer, "ResponseMetadata")
    status = metadata.get("HTTPStatusCode")
    if aws.is_transient(str(part(answer, "Error").get("Code"))):
        status = TOO_MANY_REQUESTS
    if status is None:
        return permanent(failure)
    headers = part(metadata, "HTTPHeaders")
    wait = str(headers.get("x-amz-retry-after"))
    seconds = f"{int(wait) / 1000}" if MILLISECONDS.fullmatch(wait) else None
    heard = canonical(headers) | ({"Retry-After": seconds} if seconds else {})
    return http.answered(failure, status, heard, asked)


def by_last_answer(failure: Exception, asked: Sequence[http.SentRequest]) -> Verdict:
    """Judge a waiter that gave up: by its unexpected answer, unless it used all of its attempts."""
    answer = getattr(failure, "last_response", None)
    waited = "Max attempts" in str(part(vars(failure), "kwargs").get("reason"))
    if part(answer, "Error") and not waited:
        return judge_answer(failure, answer, asked)
    return permanent(failure, ", which has waited already")


judge = http.judge_by(
    {
        "ConnectionError": unsent,
        "ProxyConnectionError": by_urllib3,
        "SSLError": by_urllib3,
        "ConnectionClosedError": by_urllib3,
        "ReadTimeoutError": http.after,
        "ResponseStreamingError": http.after,
        "IncompleteReadError": http.after,
        "HTTPClientError": by_error,
        "ClientError": by_answer,
        "WaiterError": by_last_answer,
        "S3UploadFailedError": http.by_attribute("__cause__", "__context__"),
        "RetriesExceededError": http.by_attribute("last_exception"),
    },
    {"botocore", "boto3", "s3transfer"},
    requests_of,
)
