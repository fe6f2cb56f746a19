"""Failures of redis-py, whose own rules are followed.

redis-py by itself tries every command again after its `ConnectionError` and `TimeoutError` (see
`redis.retry.Retry`; 10 times in its default), also when the command had been sent, so they may pass
here. A command that must not be carried out twice, such as INCR, needs `retry=None` in the client
*and* `on=...` here. Wrong passwords, which are `ConnectionError`s there, do not pass, nor does a
host that is not known or a certificate that does not verify.

Of the errors that a server answers, those pass that say it refused for now: it loads its data, runs
a script, lost its master, its cluster or its replicas, moves keys, or has just become a replica. A
transaction whose watched keys were changed (`WatchError`) was not carried out, and a lock that was
not to be had in time (`LockError`) was not taken.
"""

from __future__ import annotations

from typing import Any

from .._words.verdicts import Verdict
from .kinds import bases, refused
from .reaching import wrongly_addressed

REFUSED = {"AuthenticationError", "AuthorizationError", "ExternalAuthProviderError"}
UNREACHED = {"ConnectionError", "TimeoutError"}
PASSING = {
    "ClusterDownError",
    "ClusterError",
    "MasterDownError",
    "ReadOnlyError",
    "SlotNotCoveredError",
    "TemporaryUnavailableException",
    "TryAgainError",
    "WatchError",
}
ANSWERS = {"BUSY", "NOREPLICAS"}
"""The first words of answers for which redis-py has no class."""

LOCKED = "Unable to acquire lock within the time specified"
NO_NODE = "Redis Cluster cannot be connected"
NOT_COVERED = "All slots are not covered"


def judge(failure: Any) -> Verdict:
    """Judge a failure of redis-py by its class, or by the first word of the server's answer."""
    kinds = bases(failure)
    if kinds & REFUSED:
        return refused(failure)
    if kinds & UNREACHED:
        wrong = wrongly_addressed(failure)
        return refused(failure, wrong) if wrong else Verdict(True)
    text = str(failure)
    if "RedisClusterException" in kinds and NO_NODE in text:
        return as_its_cause(failure)
    not_covered = "RedisClusterException" in kinds and text.startswith(NOT_COVERED)
    refused_for_now = "ResponseError" in kinds and text.partition(" ")[0] in ANSWERS
    locked = "LockError" in kinds and text == LOCKED
    if kinds & PASSING or not_covered or refused_for_now or locked:
        return Verdict(True)
    return refused(failure)


def as_its_cause(failure: Any) -> Verdict:
    """Judge a cluster none of whose nodes was reached, as what the last one said."""
    cause = failure.__cause__ or failure.__context__
    return judge(cause) if cause is not None else Verdict(True)
