"""Failures of obstore, judged by the text of its errors: only the text tells them apart.

The text contains URLs and the body of the answer, so no message repeats it. Repeating a request
leaves the object the same. If the first try of a request with a condition was carried out, the
second try fails; with `mode="create"` it fails with `AlreadyExistsError`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .._words.judging import Verdict
from . import aws
from .http_statuses import NOT_CARRIED_OUT, PERHAPS_CARRIED_OUT
from .judge_helpers import permanent
from .unreachable import unreachable_by_text

STATUS = re.compile(r"status code: ([0-9]{3})")
CODE = re.compile(r"<Code>([A-Za-z]{1,64})</Code>")
TRANSPORT = re.compile(r"kind: (Connect|Decode|Interrupted|Request|Timeout|Unknown),")
SYSTEM = re.compile(r"os error ([0-9]+)|\bcode: ([0-9]+)")
TRANSIENT = NOT_CARRIED_OUT | PERHAPS_CARRIED_OUT
METADATA = "http://169.254.169.254/"  # where AWS gives credentials to its own machines
ASKED = re.compile(r"Error performing [A-Z]+ (\S+)")


class Complaint(NamedTuple):
    status: int  # the status of the answer, 0 if there was none
    code: str  # the error code in the answer, or ""
    transport: str  # the kind of the failure if there was no answer, or ""
    number: int  # the `errno` of the system, or 0
    credentials: bool  # false if it was the request for credentials that failed
    unreachable: str  # why the store cannot be reached, or ""


def complaint_of(error: Exception) -> Complaint:
    text = str(error)
    asked = ASKED.search(text)
    status, code = STATUS.search(text), CODE.search(text)
    transport, system = TRANSPORT.search(text), SYSTEM.search(text)
    return Complaint(
        int(status[1]) if status else 0,
        code[1] if code else "",
        transport[1] if transport else "",
        int(system[1] or system[2]) if system else 0,
        asked is None or not asked[1].startswith(METADATA),
        unreachable_by_text(text),
    )


def judge(failure: Exception) -> Verdict:
    complaint = complaint_of(failure)
    if not complaint.credentials:
        return permanent(failure, ": no credentials")
    if complaint.status:
        if complaint.status in TRANSIENT or aws.is_transient(complaint.code):
            return Verdict(True)
        return permanent(failure, f", status {complaint.status} {complaint.code}".rstrip())
    if complaint.unreachable:
        return permanent(failure, f": {complaint.unreachable}")
    if complaint.transport:
        return Verdict(True)
    return permanent(failure)
