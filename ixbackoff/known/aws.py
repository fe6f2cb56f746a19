"""Codes of AWS's errors that say that a request was not carried out, and may be later.

They are those that botocore's standard mode tries again (`botocore/retries/standard.py` and
`special.py`), those that its models mark as retryable when another request was in the way, and
`OperationAborted`, by which S3 says the same.
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
"""The client asks too often, or for too much."""

PASSING = frozenset(
    {
        "IDPCommunicationError",
        "OperationAborted",
        "ReplicatedWriteConflictException",
        "RequestTimeout",
        "RequestTimeoutException",
        "RetryableConflictException",
    }
)
"""Something was in the way that may be gone the next time."""


def is_transient(code: str) -> bool:
    """Return whether an error with this code may pass; event streams begin codes in lower case.

    >>> is_transient("SlowDown"), is_transient("throttlingException"), is_transient("NoSuchKey")
    (True, True, False)
    """
    return code[:1].upper() + code[1:] in THROTTLING | PASSING
