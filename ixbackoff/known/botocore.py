"""Failures of botocore, and so of boto3 and s3transfer.

The codes that say that a request was not carried out are those of botocore's own standard mode
(`known/aws.py`); statuses are judged as those of any other web server. A lost answer, a read
time-out or a status of 500, 502 or 504 may pass if the operation may be carried out twice: its
method is idempotent, as with the objects of S3, or its name says that it only reads (`GetItem`,
`DescribeInstances`), since most of AWS's interfaces send everything as `POST`.

botocore itself repeats every operation after these. Some of them it protects by a token
(`ClientToken`), but it makes a new one for each call, and another try is another call. A function
that gives a token of its own says so by `on=`.

A waiter that has come to its end does not pass, as it has waited already. A failed transfer of a
file is judged by the failure that it is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from .._words import verdicts
from .._words.verdicts import Verdict
from . import aws
from .exchanges import (
    Asked,
    after,
    answered,
    asked_with,
    behind,
    judge_by,
    name_of,
    never,
    reason_to_stop,
)
from .frames import variables
from .urllib3 import weighed

CALLING = {("botocore.client", "_make_api_call")}
READING = {("botocore.response", "read"), ("botocore.response", "readinto")}
READS = re.compile(r"((Batch|Transact)?Get|Describe|Head|List|Query|Scan|Search)(?![a-z])")
MILLISECONDS = re.compile(r"[0-9]{1,9}", re.ASCII)
TOO_MANY_REQUESTS = 429


def requests_of(failure: Exception) -> Iterator[Asked]:
    """Yield what was asked; an operation that only reads as a `GET`."""
    for found in variables(failure, CALLING):
        operation = str(found.get("operation_name", ""))
        request = part(found, "request_dict")
        asked = asked_with(request.get("method", ""), request.get("headers"))
        if READS.match(operation):
            yield Asked("GET")
        else:
            yield asked if asked.repeatable else Asked(f"{asked.method} of {operation}")
    for found in variables(failure, READING):
        stream = getattr(found.get("self"), "_raw_stream", None)
        method = getattr(getattr(stream, "_original_response", None), "_method", None)
        if method:
            yield asked_with(method)


def part(whole: Any, name: str) -> Mapping[str, Any]:
    """Return a mapping within a mapping; empty if it is not there."""
    found: Any = whole.get(name) if hasattr(whole, "get") else None
    empty: Mapping[str, Any] = {}
    return found if hasattr(found, "get") else empty


def unsent(failure: Exception) -> Verdict:
    return hopeless(failure) or Verdict(True)


def broken_off(failure: Exception) -> Verdict:
    return after(failure, list(requests_of(failure)))


def by_urllib3(failure: Exception) -> Verdict:
    """Judge a connection by the failure of urllib3 that ended it."""
    error = error_of(failure)
    if not isinstance(error, Exception):
        return broken_off(failure)
    told = hopeless(failure) or weighed(error, error, list(requests_of(failure)))
    why = told.why.replace(name_of(error), name_of(failure), 1)
    return Verdict(told.transient, told.retry_after, why)


def error_of(failure: Exception) -> Any:
    """Return the failure of the web client that botocore's was made of, if it says one."""
    return part(vars(failure), "kwargs").get("error")


def hopeless(failure: Exception) -> Verdict | None:
    """Refuse a connection that cannot be made later either."""
    for cause in behind(error_of(failure)):
        if reason := reason_to_stop(cause):
            return Verdict(False, why=f"{name_of(failure)}: {reason}")
    return None


def by_error(failure: Exception) -> Verdict:
    """Judge a failure of the web client that botocore did not expect."""
    return broken_off(failure) if isinstance(error_of(failure), OSError) else never(failure)


def by_answer(failure: Exception) -> Verdict:
    return judge_answer(failure, getattr(failure, "response", None))


def judge_answer(failure: Exception, answer: Any) -> Verdict:
    """Judge an answer that says an error, by its code or else its status."""
    metadata = part(answer, "ResponseMetadata")
    status = metadata.get("HTTPStatusCode")
    if aws.is_transient(str(part(answer, "Error").get("Code"))):
        status = TOO_MANY_REQUESTS
    if status is None:
        return never(failure)
    headers = part(metadata, "HTTPHeaders")
    asked = str(headers.get("x-amz-retry-after"))
    seconds = f"{int(asked) / 1000}" if MILLISECONDS.fullmatch(asked) else None
    times = {
        "Retry-After": seconds or str(headers.get("retry-after", "")),
        "Date": str(headers.get("date", "")),
    }
    return answered(failure, status, times, list(requests_of(failure)))


def by_last_answer(failure: Exception) -> Verdict:
    """Judge the end of a waiter: its patience, or an answer that it did not expect."""
    answer = getattr(failure, "last_response", None)
    waited = "Max attempts" in str(part(vars(failure), "kwargs").get("reason"))
    if part(answer, "Error") and not waited:
        return judge_answer(failure, answer)
    return Verdict(False, why=f"{name_of(failure)}, which has waited already")


def by_context(failure: Exception) -> Verdict:
    """Judge what boto3 handled when it raised this, since it says no cause."""
    cause = failure.__cause__ or failure.__context__
    return verdicts.judge(cause) if isinstance(cause, Exception) else never(failure)


def by_last(failure: Exception) -> Verdict:
    cause = getattr(failure, "last_exception", None)
    return verdicts.judge(cause) if isinstance(cause, Exception) else never(failure)


judge = judge_by(
    {
        "ConnectionError": unsent,
        "ProxyConnectionError": by_urllib3,
        "SSLError": by_urllib3,
        "ConnectionClosedError": by_urllib3,
        "ReadTimeoutError": broken_off,
        "ResponseStreamingError": broken_off,
        "IncompleteReadError": broken_off,
        "HTTPClientError": by_error,
        "ClientError": by_answer,
        "WaiterError": by_last_answer,
        "S3UploadFailedError": by_context,
        "RetriesExceededError": by_last,
    },
    frozenset({"botocore", "boto3", "s3transfer"}),
)
