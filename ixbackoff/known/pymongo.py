"""Failures of PyMongo, judged by their labels, and by whether a write was running.

PyMongo itself retries a read or a write once. Its second try of a write has the same transaction
number, so a server does not carry out the write twice. A try by the program has another number: if
the answer to a write was lost, the program may write twice. So a connection that is lost in a read,
or while it is made, is a transient failure; one that is lost in a write is permanent, although
PyMongo labels it `RetryableWriteError`. The traceback tells a read from a write; an aggregation
counts as a read, even one that ends in `$merge` or `$out`. These answers of a server are transient,
because nothing was written:

- `TransientTransactionError`: the transaction was rolled back. Retry the whole transaction.
- `RetryableWriteError` from the server: it stopped the write. Not after a `WriteConcernError`:
  everything is written. Not after a bulk write, unless it is labelled `NoWritesPerformed`: a part
  may be written.
- `SystemOverloadedError` with `RetryableError`: the server did not start the operation.
- "Not primary", or a node that is recovering: another node takes over.

A commit without an answer (`UnknownTransactionCommitResult`) may have been carried out, so it is
permanent. If no server was found in time, or the pool was full, nothing was sent, and the failure
is transient, unless the host is not known or its certificate does not verify. Sources: MongoDB's
specifications of retryable reads, retryable writes and transactions, and `pymongo.errors`.
"""

from __future__ import annotations

import re
import socket
from typing import Any

from .._words.verdicts import Verdict
from .judging import bases, permanent
from .reaching import misaddressed
from .tracebacks import through

NOTHING_SENT = {"ServerSelectionTimeoutError", "WaitQueueTimeoutError"}
PARTLY_WRITTEN = {"WriteConcernError", "BulkWriteError", "ClientBulkWriteException"}
CODES = {6, 7, 89, 91, 134, 189, 262, 9001, 10058, 10107, 11600, 11602, 13435, 13436}
"""The codes after which a driver retries a read, by the specification of retryable reads."""

MISADDRESSED = re.compile(rf"CERTIFICATE_VERIFY_FAILED|\[Errno {int(socket.EAI_NONAME)}\]")
OWN_COMMANDS = ("pymongo.synchronous.database", "pymongo.asynchronous.database")
LOST_IN_WRITING = " in a write, which may have been carried out"


def judge(failure: Any) -> Verdict:
    labelled = getattr(failure, "has_error_label", None)
    kinds = bases(failure)
    if labelled is None:
        return permanent(failure)
    if labelled("UnknownTransactionCommitResult"):
        return permanent(failure, " in a commit, which may have been carried out")
    overloaded = labelled("SystemOverloadedError") and labelled("RetryableError")
    if overloaded or labelled("TransientTransactionError"):
        return Verdict(True)
    if "ConnectionFailure" in kinds:
        return judge_connection(failure, kinds)
    return judge_answer(failure, kinds)


def judge_connection(failure: Any, kinds: set[str]) -> Verdict:
    reason = misaddressed(failure)
    if reason:
        return permanent(failure, f": {reason}")
    if kinds & NOTHING_SENT:
        if MISADDRESSED.search(str(failure)):
            return permanent(failure, ": its host is not known or its certificate does not verify")
        return Verdict(True)
    if "NotPrimaryError" in kinds or is_reading(failure) or is_connecting(failure):
        return Verdict(True)
    return permanent(failure, LOST_IN_WRITING)


def judge_answer(failure: Any, kinds: set[str]) -> Verdict:
    code = getattr(failure, "code", None)
    if failure.has_error_label("RetryableWriteError"):
        if not kinds & PARTLY_WRITTEN or failure.has_error_label("NoWritesPerformed"):
            return Verdict(True)
        return permanent(failure, LOST_IN_WRITING)
    if code in CODES and not kinds & PARTLY_WRITTEN and is_reading(failure):
        return Verdict(True)
    return permanent(failure, f" (code {code})") if code is not None else permanent(failure)


def is_reading(failure: Exception) -> bool:
    """Return whether a failure came from a read; a command of the user's own may be a write."""
    is_command = any(through(failure, module, "command") for module in OWN_COMMANDS)
    return through(failure, "pymongo", "_read") and not is_command


def is_connecting(failure: Exception) -> bool:
    """Return whether a failure came while a connection was made, before anything was sent."""
    return through(failure, "pymongo", "connect", "_connect", "_hello", "authenticate")
