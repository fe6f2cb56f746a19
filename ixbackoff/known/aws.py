"""Codes of AWS's errors after which a request was not carried out, and may be later.

botocore's standard mode tries them again (`botocore/retries/standard.py` and `special.py`), or its
models mark them as retryable after a conflict of two requests, as S3 reports by `OperationAborted`.
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
"""Another request or a service in between was in the way, and may not be the next time."""


def is_transient(code: str) -> bool:
    """Return whether an error code is transient; event streams begin codes in lower case.

    >>> is_transient("SlowDown"), is_transient("throttlingException"), is_transient("NoSuchKey")
    (True, True, False)
    """
    return code[:1].upper() + code[1:] in THROTTLING | TRANSIENT
