"""Polling: the status of an operation of a service, turned into a value or a failure."""

from __future__ import annotations

from .._words.failure_classes import NotReady, ServerError, Throttled


class OperationFailed(Exception):
    """The operation ended without success, so further polling does not help.

    >>> str(OperationFailed("ACCESS_DENIED"))
    'the operation ended with the status ACCESS_DENIED'
    """

    def __init__(self, status: str) -> None:
        super().__init__(status)
        self.status = status

    def __str__(self) -> str:
        return f"the operation ended with the status {self.status}"


def succeeded(status: str) -> str:
    """Return `status` if it is `"SUCCESS"`; for `.map` after the command that asks for the status.

    The statuses are those of the polling loop in the AWS General Reference ("Error retries and
    exponential backoff in AWS").

    >>> from ixbackoff import N3, Call, at, call, do
    >>> from ixbackoff.schedules.polled_status import succeeded
    >>> from ixbackoff.testing import Virtual, answers
    >>> world = Virtual(Call.handled_by(answers("NOT_READY", "THROTTLED", "SUCCESS")))
    >>> at(N3).retry(do(call(str, "status")).map(succeeded)).run(world.interpreter)
    'SUCCESS'
    >>> world.waits
    [1.0, 2.0]

    Raises:
        NotReady: `status` is `NOT_READY`; ask again later.
        Throttled: `status` is `THROTTLED`; ask again later.
        ServerError: `status` is `SERVER_ERROR`; ask again later.
        OperationFailed: `status` is anything else; polling stops.
    """
    if status == "SUCCESS":
        return status
    if status == "NOT_READY":
        raise NotReady("the operation is still running")
    if status == "THROTTLED":
        raise Throttled
    if status == "SERVER_ERROR":
        raise ServerError(500)
    raise OperationFailed(status)
