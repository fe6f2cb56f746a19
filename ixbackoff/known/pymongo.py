"""Failures of PyMongo, judged by their labels, and by whether a write was running.

PyMongo's own second try of a write has the same transaction number, so a server does not carry out
the write twice. A try by the program has another number, so a connection that is lost in a write is
a permanent failure, although PyMongo labels it `RetryableWriteError`. The traceback tells a read
from a write. A server that answers with `RetryableWriteError` has stopped the write, with two
exceptions: after a `WriteConcernError` everything is written, and a part of a bulk write may be
written. But if the failure also has the label `NoWritesPerformed`, nothing is written.

Sources: MongoDB's specifications of retryable reads, retryable writes and transactions.
"""

from __future__ import annotations

import re
import socket
from typing import Any

from .._words.judging import Verdict
from .judge_helpers import bases, permanent, through
from .unreachable import misaddressed

NOTHING_SENT = {"ServerSelectionTimeoutError", "WaitQueueTimeoutError"}
PARTLY_WRITTEN = {"WriteConcernError", "BulkWriteError", "ClientBulkWriteException"}
# The codes after which a driver retries a read.
CODES = {6, 7, 89, 91, 134, 189, 262, 9001, 10058, 10107, 11600, 11602, 13435, 13436}
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
    # before the command was sent
    connecting = through(failure, "pymongo", "connect", "_connect", "_hello", "authenticate")
    if "NotPrimaryError" in kinds or is_reading(failure) or connecting:
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
    """Return whether a failure came from a read; `Database.command` may write, so it is not one."""
    is_command = any(through(failure, module, "command") for module in OWN_COMMANDS)
    return through(failure, "pymongo", "_read") and not is_command
