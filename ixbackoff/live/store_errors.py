"""Errors of the store library, as failures of live commands."""

from __future__ import annotations

import os
import ssl
from collections.abc import Generator
from contextlib import contextmanager

from .._words.extras import LIVE, needed
from .._words.failure_classes import ClientError, ServerError, Throttled
from ..known import aws
from ..known.obstore import Complaint, complaint_of
from ..known.unreachable import UNTRUSTED
from .errors import StoreError
from .limits import Deadline


@contextmanager
def store_failures(deadline: Deadline) -> Generator[None]:
    """Raise store errors as failures; a time-out after the deadline has the limit in its text."""
    with needed("Upload", "live", LIVE):
        from obstore.exceptions import BaseError
    try:
        yield
    except BaseError as error:
        failure = failure_of_store(error, deadline.what)
        if isinstance(failure, TimeoutError) and not deadline.left:
            failure = deadline.exceeded()
        raise failure from None
    except (FileNotFoundError, ValueError) as error:
        if getattr(error, "errno", None) is not None:  # of the file, not of the library
            raise
        raise failure_of_store(error, deadline.what) from None


def failure_of_store(error: Exception, where: str) -> Exception:
    complaint = complaint_of(error)
    if not complaint.credentials:
        return PermissionError(
            f"{where}: no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        )
    if complaint.status:
        return failure_of_answer(complaint.status, complaint.code, where)
    if complaint.transport:
        return failure_of_transport(complaint, where)
    if complaint.number:
        return OSError(complaint.number, os.strerror(complaint.number), where)
    return StoreError(f"{where}: the store rejected the request: {error.__class__.__name__}")


def failure_of_answer(status: int, code: str, where: str) -> Exception:
    answered = f"{where}: the store answered {status}" + (f" ({code})" if code else "")
    failure: Exception
    if status == 429 or code in aws.THROTTLING:
        failure = Throttled()
    elif status >= 500 or status in (408, 425) or code in aws.TRANSIENT:
        failure = ServerError(status)
    elif code == "NoSuchUpload":
        return ConnectionAbortedError(f"{answered}: another client aborted the upload")
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


def failure_of_transport(complaint: Complaint, where: str) -> Exception:
    kind, number = complaint.transport, complaint.number
    if kind == "Timeout":
        return TimeoutError(f"{where}: the store did not answer in time")
    if complaint.unreachable == UNTRUSTED:
        return ssl.SSLCertVerificationError(f"{where}: the store's certificate is not trusted")
    why = "cannot connect" if kind == "Connect" else "the answer broke off, or it is not HTTP"
    if number:
        why = os.strerror(number)
    failure = OSError(number, why).__class__
    if not issubclass(failure, ConnectionError):
        failure = ConnectionError
    return failure(f"{where}: the store gave no answer: {why}")
