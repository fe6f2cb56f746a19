"""Failures of object stores, by the text of the store library's errors.

The library has no other way to tell them apart. The text holds URLs and the body of the answer, so
it is read and never shown.
"""

from __future__ import annotations

import os
import re
import ssl

from .._words.failures import ClientError, ServerError, Throttled
from .refusals import StoreError

STATUS = re.compile(r"status code: ([0-9]{3})")
CODE = re.compile(r"<Code>([A-Za-z]{1,64})</Code>")
TRANSPORT = re.compile(r"kind: (Connect|Decode|Interrupted|Request|Timeout|Unknown),")
SYSTEM = re.compile(r"os error ([0-9]+)|\bcode: ([0-9]+)")
METADATA = "//169.254.169.254/"  # where AWS gives credentials to its own machines

THROTTLING = frozenset({"SlowDown", "Throttling", "ThrottlingException", "TooManyRequests"})
PASSING = frozenset({"OperationAborted", "RequestTimeout"})


def failure_of(error: Exception, where: str) -> Exception:
    """Return the failure that an error of the store library stands for.

    Args:
        error: the exception of the library.
        where: the URL of the object, without secrets.
    """
    text = str(error)
    status, code = STATUS.search(text), CODE.search(text)
    transport, system = TRANSPORT.search(text), SYSTEM.search(text)
    number = int(system[1] or system[2]) if system else 0
    if METADATA in text:
        return PermissionError(
            f"{where}: no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        )
    if status:
        return failure_of_status(int(status[1]), code[1] if code else "", where)
    if transport:
        return failure_of_transport(transport[1], number, "InvalidCertificate" in text, where)
    if number:
        return OSError(number, os.strerror(number), where)
    return StoreError(f"{where}: the store refused the request: {error.__class__.__name__}")


def failure_of_status(status: int, code: str, where: str) -> Exception:
    answered = f"{where}: the store answered {status}" + (f" ({code})" if code else "")
    failure: Exception
    if status == 429 or code in THROTTLING:
        failure = Throttled()
    elif status >= 500 or status in (408, 425) or code in PASSING:
        failure = ServerError(status)
    elif status in (401, 403):
        return PermissionError(f"{answered}: the credentials do not allow this")
    elif status == 404:
        return FileNotFoundError(f"{answered}: there is no such bucket")
    elif status < 400:
        return StoreError(f"{answered}: the bucket is in another region: set AWS_REGION")
    else:
        failure = ClientError(status)
    failure.add_note(answered)
    return failure


def failure_of_transport(kind: str, number: int, untrusted: bool, where: str) -> Exception:
    if kind == "Timeout":
        return TimeoutError(f"{where}: the store did not answer in time")
    if untrusted:
        return ssl.SSLCertVerificationError(f"{where}: the store's certificate is not trusted")
    why = "cannot connect" if kind == "Connect" else "the answer broke off, or it is not HTTP"
    if number:
        why = os.strerror(number)
    failure = OSError(number, why).__class__
    if not issubclass(failure, ConnectionError):
        failure = ConnectionError
    return failure(f"{where}: the store gave no answer: {why}")
