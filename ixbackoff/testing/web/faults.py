"""Faults of web servers, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Protocol

from .fault_connection import Connection
from .served_documents import Answer


class Fault(Protocol):
    """A wrong answer to a request, or no answer; `Connection` shows how to write your own fault.

    Faults that send the resource, or a part of it, carry out the request first, and so does `Lost`.
    With all other faults, a `PUT` stores nothing.
    """

    def answer(self, connection: Connection) -> None:
        """Answer the current request of a connection, which is closed afterwards."""
        ...


@dataclass(frozen=True)
class Status(Fault):
    """An answer with a status, such as 503 or 429; the request is not carried out.

    >>> from contextlib import closing
    >>> from http.client import HTTPConnection
    >>> from ixbackoff.testing.web import Origin
    >>> with (
    ...     Origin({"/a": b"acorn"}, {"/a": [Status(503, retry_after=2)]}) as origin,
    ...     closing(HTTPConnection(origin.host, origin.port)) as client,
    ... ):
    ...     client.request("GET", "/a")
    ...     answer = client.getresponse()
    ...     print(answer.status, answer.headers["Retry-After"])
    503 2

    Attributes:
        status: the number, 100 to 999.
        retry_after: the header `Retry-After`: seconds; a `datetime`, sent as an HTTP date; a
            `timedelta`, added to `Date` and sent as an HTTP date; or a literal text.
        headers: further headers.
        body: the body of the answer.

    Raises:
        ValueError: `status` is out of range, or a `datetime` has no time zone.
    """

    status: int
    retry_after: float | timedelta | datetime | str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    body: bytes = b""

    def __post_init__(self) -> None:
        if not 100 <= self.status <= 999:
            raise ValueError(f"Status({self.status!r}): give a number from 100 to 999.")
        if isinstance(self.retry_after, datetime) and self.retry_after.tzinfo is None:
            raise ValueError(
                f"Status(retry_after={self.retry_after!r}): give a datetime with a time zone."
            )

    def answer(self, connection: Connection) -> None:
        headers = {"Date": http_date(now := datetime.now(UTC))}
        if self.retry_after is not None:
            headers["Retry-After"] = retry_after(self.retry_after, now)
        connection.send_answer(Answer(self.status, headers | dict(self.headers), self.body))


def retry_after(asked: float | timedelta | datetime | str, now: datetime) -> str:
    if isinstance(asked, timedelta):
        asked = now + asked
    if isinstance(asked, datetime):
        return http_date(asked)
    if isinstance(asked, float) and asked.is_integer():
        asked = int(asked)
    return str(asked)


def http_date(moment: datetime) -> str:
    return format_datetime(moment.astimezone(UTC), usegmt=True)


@dataclass(frozen=True)
class Redirect(Fault):
    """A redirect to another place, by the header `Location`.

    >>> from urllib.request import urlopen
    >>> from ixbackoff.testing.web import Origin
    >>> with Origin({"/new": b"acorn"}, {"/old": [Redirect("/new")]}) as origin:
    ...     with urlopen(origin.url + "/old") as answer:
    ...         answer.read()
    b'acorn'

    Attributes:
        location: a path or a URL.
        status: 301, 302, 303, 307 or 308.
    """

    location: str
    status: int = 302

    def answer(self, connection: Connection) -> None:
        connection.send_answer(Answer(self.status, {"Location": self.location}))


@dataclass(frozen=True)
class Reset(Fault):
    """A reset of the connection, before the answer or in the middle of it.

    >>> from urllib.request import urlopen
    >>> from ixbackoff.testing.web import Origin
    >>> with Origin({"/a": b"acorn"}, {"/a": [Reset()]}) as origin:
    ...     urlopen(origin.url + "/a")
    Traceback (most recent call last):
    ConnectionResetError: [Errno 104] Connection reset by peer

    Attributes:
        after: the number of bytes of the body that are sent before the reset; with `None` not even
            the headers are sent, and the request is not carried out.
    """

    after: int | None = None

    def answer(self, connection: Connection) -> None:
        if self.after is not None:
            connection.send_answer(connection.carry_out(), self.after)
        connection.reset()


@dataclass(frozen=True)
class Lost(Fault):
    """A lost answer: the request is carried out, and the connection reset before the answer.

    A client cannot distinguish this fault from `Reset()`, but the request has been carried out: a
    test can show what happens if it is carried out again.

    >>> from urllib.request import urlopen
    >>> from ixbackoff.testing.web import Origin
    >>> with Origin({"/orders": b"{}"}, {"/orders": [Lost()]}) as origin:
    ...     urlopen(origin.url + "/orders", data=b"two acorns")
    Traceback (most recent call last):
    ConnectionResetError: [Errno 104] Connection reset by peer
    """

    def answer(self, connection: Connection) -> None:
        connection.carry_out()
        connection.reset()


@dataclass(frozen=True)
class Truncated(Fault):
    """A part of the body, after which the connection is closed as after a whole body.

    >>> from urllib.request import urlopen
    >>> from ixbackoff.testing.web import Origin
    >>> with Origin({"/a": b"acorn"}, {"/a": [Truncated(after=2)]}) as origin:
    ...     with urlopen(origin.url + "/a") as answer:
    ...         answer.read()
    Traceback (most recent call last):
    http.client.IncompleteRead: IncompleteRead(2 bytes read, 3 more expected)

    Attributes:
        after: the number of bytes of the body that are sent.
    """

    after: int = 0

    def answer(self, connection: Connection) -> None:
        connection.send_answer(connection.carry_out(), self.after)


@dataclass(frozen=True)
class Dropped(Fault):
    """A connection that is closed without an answer; the request is not carried out.

    >>> from urllib.request import urlopen
    >>> from ixbackoff.testing.web import Origin
    >>> with Origin({"/a": b"acorn"}, {"/a": [Dropped()]}) as origin:
    ...     urlopen(origin.url + "/a")
    Traceback (most recent call last):
    http.client.RemoteDisconnected: Remote end closed connection without response
    """

    def answer(self, connection: Connection) -> None:
        pass


@dataclass(frozen=True)
class Down(Fault):
    """An outage: the connection is closed without an answer, and new connections are refused.

    >>> from urllib.request import urlopen
    >>> from ixbackoff import N2, Constant, backoff
    >>> from ixbackoff.testing.web import Origin
    >>> @backoff(N2, on=OSError, schedule=Constant(0.2))
    ... def page(url: str) -> bytes:
    ...     with urlopen(url) as answer:
    ...         return answer.read()
    >>> with Origin({"/a": b"acorn"}, {"/a": [Down(seconds=0.3)]}) as origin:
    ...     page(origin.url + "/a"), len(origin.requests)  # the second try was refused
    (b'acorn', 2)

    Attributes:
        seconds: the seconds for which connections are refused.

    Raises:
        ValueError: `seconds` is negative.
    """

    seconds: float

    def __post_init__(self) -> None:
        check_seconds(self, self.seconds)

    def answer(self, connection: Connection) -> None:
        connection.go_down(self.seconds)


@dataclass(frozen=True)
class Slow(Fault):
    """A slow body, in pieces with a pause before each; the headers are sent immediately.

    >>> from urllib.request import urlopen
    >>> from ixbackoff.testing.web import Origin
    >>> with Origin({"/a": b"acorn"}, {"/a": [Slow(seconds=60.0)]}) as origin:
    ...     with urlopen(origin.url + "/a", timeout=0.1) as answer:
    ...         answer.read()
    Traceback (most recent call last):
    TimeoutError: timed out

    Attributes:
        seconds: the seconds of each pause.
        piece: the number of bytes of each piece.

    Raises:
        ValueError: `seconds` is negative, or `piece` is not above 0.
    """

    seconds: float
    piece: int = 1024

    def __post_init__(self) -> None:
        check_seconds(self, self.seconds)
        if not self.piece > 0:
            raise ValueError(f"{self!r}: give a number of bytes, 1 or more.")

    def answer(self, connection: Connection) -> None:
        connection.send_answer(connection.carry_out(), 0)
        body = b"" if connection.request.method == "HEAD" else connection.carry_out().body
        for start in range(0, len(body), self.piece):
            if not connection.pause(self.seconds):
                return
            connection.send(body[start : start + self.piece])


@dataclass(frozen=True)
class Late(Fault):
    """A pause before the answer, or before another fault.

    >>> from urllib.request import urlopen
    >>> from ixbackoff.testing.web import Origin
    >>> with Origin({"/a": b"acorn"}, {"/a": [Late(60.0), Late(0.01, Reset())]}) as origin:
    ...     urlopen(origin.url + "/a", timeout=0.1)
    Traceback (most recent call last):
    TimeoutError: timed out

    Attributes:
        seconds: the seconds of the pause.
        then: the fault that answers after the pause, or `None`.

    Raises:
        ValueError: `seconds` is negative.
    """

    seconds: float
    then: Fault | None = None

    def __post_init__(self) -> None:
        check_seconds(self, self.seconds)

    def answer(self, connection: Connection) -> None:
        if not connection.pause(self.seconds):
            return
        if self.then is None:
            connection.send_answer(connection.carry_out())
        else:
            self.then.answer(connection)


@dataclass(frozen=True)
class Hang(Fault):
    """A request that is never answered.

    >>> from urllib.request import urlopen
    >>> from ixbackoff.testing.web import Origin
    >>> with Origin({"/a": b"acorn"}, {"/a": [Hang()]}) as origin:
    ...     urlopen(origin.url + "/a", timeout=0.1)
    Traceback (most recent call last):
    TimeoutError: timed out
    """

    def answer(self, connection: Connection) -> None:
        connection.wait_for_end()


@dataclass(frozen=True)
class Malformed(Fault):
    """An answer of raw bytes, by default of something other than HTTP.

    >>> from urllib.request import urlopen
    >>> from ixbackoff.testing.web import Origin
    >>> with Origin({"/a": b"acorn"}, {"/a": [Malformed(b"HELO")]}) as origin:
    ...     urlopen(origin.url + "/a")
    Traceback (most recent call last):
    http.client.BadStatusLine: HELO
    """

    text: bytes = b"HELO what is this\r\n\r\n"

    def answer(self, connection: Connection) -> None:
        connection.send(self.text)


def check_seconds(fault: Fault, seconds: object) -> None:
    if not (isinstance(seconds, int | float) and seconds >= 0):
        raise ValueError(f"{fault!r}: give seconds, 0 or more.")
