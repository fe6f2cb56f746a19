"""Failures of gRPC, sync and in `grpc.aio`, by their status codes.

Three permanent failures are recognized by their text: a message that is too large, a host that does
not exist, and a certificate that does not verify. Anything but digits in `grpc-retry-pushback-ms`
forbids another try (gRFC A6). To read `google.rpc.RetryInfo`, googleapis-common-protos is needed.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .._words.headers import PUSHBACK, is_pushed_back
from .._words.judging import Verdict
from .judge_helpers import permanent
from .unreachable import unreachable_by_text

TRANSIENT = frozenset({"UNAVAILABLE", "RESOURCE_EXHAUSTED", "ABORTED"})
TOO_LARGE = "larger than max ("
DETAILS = "grpc-status-details-bin"


def judge(failure: Exception) -> Verdict:
    code: Any = getattr(result_of(failure, "code"), "name", None)
    if code is None:
        return permanent(failure, " without a status")
    if code == "DEADLINE_EXCEEDED":
        return Verdict(False, why="grpc DEADLINE_EXCEEDED: the call may have been carried out")
    if code not in TRANSIENT:
        return Verdict(False, why=f"grpc {code}")
    text = str(result_of(failure, "details"))
    cause = "the message is too large" if TOO_LARGE in text else unreachable_by_text(text)
    if cause:
        return Verdict(False, why=f"grpc {code}: {cause}")
    metadata: dict[str, Any] = dict(result_of(failure, "trailing_metadata") or ())
    pushback = metadata.get(PUSHBACK)
    if pushback is None:
        return Verdict(True, delay_of(metadata.get(DETAILS)))
    if is_pushed_back(metadata):
        return Verdict(False, why=f"grpc {code}: the server forbids another try")
    return Verdict(True, int(pushback) / 1000)


def result_of(call: Any, name: str) -> Any:
    """Call a method of a call; return `None` if it has no such method."""
    method: Any = getattr(call, name, None)
    return method() if callable(method) else None


def delay_of(details: Any) -> float | None:
    """Return the seconds of a `RetryInfo` in a serialized `google.rpc.Status`, or `None`."""
    if not isinstance(details, bytes):
        return None
    try:
        statuses: Any = import_module("google.rpc.status_pb2")
        infos: Any = import_module("google.rpc.error_details_pb2")
        for detail in statuses.Status.FromString(details).details:
            info = infos.RetryInfo()
            if detail.Unpack(info):
                return seconds_of(info.retry_delay)
    except Exception:
        return None  # not installed, or not such a message
    return None


def seconds_of(duration: Any) -> float:
    """Return the seconds of a `google.protobuf.Duration`, 0 if it is negative."""
    return max(0.0, float(duration.seconds + duration.nanos / 1e9))
