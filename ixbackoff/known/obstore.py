"""Failures of obstore, by the text of its errors.

The library has no other way to tell them apart. The text holds URLs and the body of the answer, so
it is read and never shown. `Retry-After` is not in it.

A lost answer may pass whatever was asked, since what is done to an object can be done twice. Where
the first try was carried out, a second with `mode="create"` fails with `AlreadyExistsError`.

obstore itself tries again, too, for three minutes, and not all that may pass; with
`retry_config={"max_retries": 0}` only the program does.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .._words.verdicts import Verdict
from . import aws
from .exchanges import NOT_CARRIED_OUT, PERHAPS_CARRIED_OUT, name_of
from .lasting import lasting

STATUS = re.compile(r"status code: ([0-9]{3})")
CODE = re.compile(r"<Code>([A-Za-z]{1,64})</Code>")
TRANSPORT = re.compile(r"kind: (Connect|Decode|Interrupted|Request|Timeout|Unknown),")
SYSTEM = re.compile(r"os error ([0-9]+)|\bcode: ([0-9]+)")
PASSING = NOT_CARRIED_OUT | PERHAPS_CARRIED_OUT
METADATA = "http://169.254.169.254/"  # where AWS gives credentials to its own machines
ASKED = re.compile(r"Error performing [A-Z]+ (\S+)")


class Complaint(NamedTuple):
    """The facts in the text of an error.

    Attributes:
        status: the status of the answer, 0 if there was none.
        code: the code in the answer, or nothing.
        transport: the kind of failure to get an answer, or nothing.
        number: the `errno` of the system, or 0.
        credentials: false if the store looked for credentials on AWS's own machines.
        lasting: a cause that will not pass, or nothing.
    """

    status: int
    code: str
    transport: str
    number: int
    credentials: bool
    lasting: str


def complaint_of(error: Exception) -> Complaint:
    """Read the text of an error of obstore."""
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
        lasting(text) or "",
    )


def judge(failure: Exception) -> Verdict:
    """Judge a failure of obstore."""
    complaint = complaint_of(failure)
    if not complaint.credentials:
        return Verdict(False, why=f"{name_of(failure)}: no credentials")
    if complaint.status:
        if complaint.status in NOT_CARRIED_OUT | PERHAPS_CARRIED_OUT or aws.is_transient(
            complaint.code
        ):
            return Verdict(True)
        said = f"{complaint.status} {complaint.code}".strip()
        return Verdict(False, why=f"{name_of(failure)}, status {said}")
    if complaint.lasting:
        return Verdict(False, why=f"{name_of(failure)}: {complaint.lasting}")
    if complaint.transport:
        return Verdict(True)
    return Verdict(False, why=f"{name_of(failure)}, which does not pass by itself")
