"""Failures of gRPC, sync and in `grpc.aio`.

UNAVAILABLE, RESOURCE_EXHAUSTED and ABORTED are transient. By gRPC's list of status codes, a client
can retry an UNAVAILABLE call after a wait, and after ABORTED the whole sequence of calls. A server
that is lost in the middle of a call is UNAVAILABLE, too, so a call that must not be carried out
twice needs another `on`.

DEADLINE_EXCEEDED is permanent: the call may have been carried out, and the failure does not show
whether it may be repeated; where it may, pass `on=`. INTERNAL, UNKNOWN and the others are permanent
too. The judge recognizes three permanent failures by their text: a message that is larger than the
limit (RESOURCE_EXHAUSTED), a host that does not exist and a certificate that does not verify (both
UNAVAILABLE).

`grpc-retry-pushback-ms` gives the milliseconds to wait; anything but a number in it forbids another
try (gRFC A6). `google.rpc.RetryInfo` in the details of the status is read where
googleapis-common-protos is installed.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

from .._words.verdicts import Verdict
from .judging import permanent
from .reaching import unreachable_by_text

TRANSIENT = frozenset({"UNAVAILABLE", "RESOURCE_EXHAUSTED", "ABORTED"})
TOO_LARGE = "larger than max ("
PUSHBACK = "grpc-retry-pushback-ms"
DETAILS = "grpc-status-details-bin"
MILLISECONDS = re.compile(r"[0-9]{1,9}", re.ASCII)


def judge(failure: Exception) -> Verdict:
    code: Any = getattr(result_of(failure, "code"), "name", None)
    if code is None:
        return permanent(failure, " without a status")
    if code == "DEADLINE_EXCEEDED":
        return Verdict(False, why="grpc DEADLINE_EXCEEDED: the call may have been carried out")
    if code not in TRANSIENT:
        return Verdict(False, why=f"grpc {code}")
    return judge_transient(failure, f"grpc {code}")


def judge_transient(call: Any, shown: str) -> Verdict:
    text = str(result_of(call, "details"))
    cause = "the message is too large" if TOO_LARGE in text else unreachable_by_text(text)
    if cause:
        return Verdict(False, why=f"{shown}: {cause}")
    metadata = metadata_of(call)
    pushback = metadata.get(PUSHBACK)
    if pushback is None:
        return Verdict(True, delay_of(metadata.get(DETAILS)))
    if not MILLISECONDS.fullmatch(str(pushback)):
        return Verdict(False, why=f"{shown}: the server forbids another try")
    return Verdict(True, int(pushback) / 1000)


def result_of(call: Any, name: str) -> Any:
    """Call a method of a call; return `None` if it has no such method."""
    method: Any = getattr(call, name, None)
    return method() if callable(method) else None


def metadata_of(call: Any) -> dict[str, Any]:
    pairs: Any = result_of(call, "trailing_metadata")
    return dict(pairs or ())


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
