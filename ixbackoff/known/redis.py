"""Failures of redis-py, judged by its own rules (see `redis.retry.Retry`).

redis-py itself retries every command after its `ConnectionError` and `TimeoutError`, even if the
command had been sent. Wrong passwords, which are `ConnectionError`s there, are permanent here.
"""

from __future__ import annotations

from typing import Any

from .._words.verdicts import Verdict
from .judging import bases, permanent
from .reaching import misaddressed

REFUSED = {"AuthenticationError", "AuthorizationError", "ExternalAuthProviderError"}
UNREACHED = {"ConnectionError", "TimeoutError"}
TRANSIENT = {
    "ClusterError",
    "ReadOnlyError",
    "SlotNotCoveredError",
    "TemporaryUnavailableException",
    "TryAgainError",
    "WatchError",
}
ANSWERS = {"BUSY", "NOREPLICAS"}  # first words of answers for which redis-py has no class
LOCKED = "Unable to acquire lock within the time specified"
NO_NODE = "Redis Cluster cannot be connected"
NOT_COVERED = "All slots are not covered"


def judge(failure: Any) -> Verdict:
    kinds = bases(failure)
    if kinds & REFUSED:
        return permanent(failure)
    if kinds & UNREACHED:
        reason = misaddressed(failure)
        return permanent(failure, f": {reason}") if reason else Verdict(True)
    text = str(failure)
    if "RedisClusterException" in kinds and NO_NODE in text:
        cause = failure.__cause__ or failure.__context__  # the failure of the last node
        return judge(cause) if cause is not None else Verdict(True)
    not_covered = "RedisClusterException" in kinds and text.startswith(NOT_COVERED)
    refused_for_now = "ResponseError" in kinds and text.partition(" ")[0] in ANSWERS
    locked = "LockError" in kinds and text == LOCKED
    if kinds & TRANSIENT or not_covered or refused_for_now or locked:
        return Verdict(True)
    return permanent(failure)
