"""Codes of AWS's errors after which the same request may succeed later.

botocore's standard mode retries after most of them (`botocore/retries/standard.py`, `special.py`).
`TooManyRequests` is a code of EFS. `OperationAborted`, a code of S3, reports a conflict of two
requests, as do the codes with `Conflict` in them.
"""

from __future__ import annotations

THROTTLING = frozenset(
    {
        "BandwidthLimitExceeded",
        "EC2ThrottledException",
        "LimitExceededException",
        "PriorRequestNotComplete",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequests",
        "TooManyRequestsException",
        "TransactionInProgressException",
    }
)
"""The client sends too many requests, or asks for too much."""

TRANSIENT = frozenset(
    {
        "IDPCommunicationError",
        "OperationAborted",
        "ReplicatedWriteConflictException",
        "RequestTimeout",
        "RequestTimeoutException",
        "RetryableConflictException",
    }
)
"""A concurrent request, an unreachable identity provider or a time-out made the request fail."""


def is_transient(code: str) -> bool:
    """Return whether an error code is transient. Codes in event streams begin in lower case.

    >>> is_transient("SlowDown"), is_transient("throttlingException"), is_transient("NoSuchKey")
    (True, True, False)
    """
    return code[:1].upper() + code[1:] in THROTTLING | TRANSIENT
