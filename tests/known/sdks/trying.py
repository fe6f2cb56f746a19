"""Calls of SDKs against a server that fails: the requests, the waits, and the reason of the end."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain, count, repeat
from typing import Any, NamedTuple

import pytest

from ixbackoff import N2, backoff
from ixbackoff.schedules import Constant
from ixbackoff.testing import no_waits
from ixbackoff.testing.web import Answer, Connection, Fault, Origin, ReceivedRequest

from ...support.clients.tries import why_noted
from ...support.servers.ports import free_port

Call = Callable[[str], Any]
"""A call of an SDK with the URL of the server; for an async SDK it returns an awaitable."""


NUMBERS = count(1)


class Told(logging.Handler):
    """The sentences of the log about retries inside a try."""

    def __init__(self) -> None:
        super().__init__()
        self.sentences: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        said = record.getMessage()
        if "each try is up to" in said:
            self.sentences.append(said.partition(": ")[2])


class Outcome(NamedTuple):
    """The end of a call that fails each time, on a ladder of two waits.

    Attributes:
        requests: the number of requests that reached the server.
        waits: the seconds of the waits.
        failure: the failure of the last try.
        told: what the log says about retries inside a try.
    """

    requests: int
    waits: list[float]
    failure: Exception
    told: list[str]

    @property
    def why(self) -> str:
        """The reason in the note, if the failure was not tried again."""
        return why_noted(self.failure)


@dataclass(frozen=True)
class Stream(Fault):
    """A stream that begins well, and breaks off without its end."""

    body: bytes

    def answer(self, connection: Connection) -> None:
        headers = {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"}
        connection.send_head(200, headers)
        if self.body:
            connection.send(b"%x\r\n%s\r\n" % (len(self.body), self.body))


class FailingEverywhere(Origin):
    """An origin that answers requests for any path by one script, whose last fault repeats."""

    def __init__(self, *script: Fault | None) -> None:
        super().__init__()
        self._script = chain(script, repeat(script[-1]))

    def _next_fault(self, request: ReceivedRequest) -> Fault | None:  # noqa: ARG002
        return next(self._script)

    def carry_out(self, request: ReceivedRequest) -> Answer:  # noqa: ARG002
        return Answer(200, {"Content-Type": "application/json"}, b'{"id": "1"}')


def outcome(call: Call, *script: Fault) -> Outcome:
    """Call an SDK against an origin with this script; without one, against a port without a server.

    It is called again after each failure that may pass, at most twice. No wait takes time.
    """
    if not script:
        return tried(call, f"http://127.0.0.1:{free_port()}")
    with FailingEverywhere(*script) as origin:
        return tried(call, origin.url)._replace(requests=len(origin.requests))


def tried(call: Call, url: str) -> Outcome:
    """Call an SDK with a URL, on a ladder of two waits."""
    is_async = inspect.iscoroutinefunction(call)
    call.__qualname__ = f"call_{next(NUMBERS)}"  # the log tells of retries once for each name
    patient = backoff(N2, schedule=Constant(0.5))(call)
    told = Told()
    logger = logging.getLogger("ixbackoff")
    logger.addHandler(told)
    try:
        with no_waits() as waits, pytest.raises(Exception) as caught:  # noqa: PT011
            asyncio.run(patient(url)) if is_async else patient(url)
    finally:
        logger.removeHandler(told)
    return Outcome(0, waits.waited, caught.value, told.sentences)
