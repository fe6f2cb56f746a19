"""The ways in which web servers fail, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from .origin import Connection


class Fault(Protocol):
    """A way to fail: it answers a request in its own way."""

    def answer(self, connection: Connection) -> None: ...


@dataclass(frozen=True)
class Status:
    """Answers with a status, such as 503 or 429, and no body.

    Attributes:
        status: the number.
        retry_after: the header `Retry-After`, seconds or an HTTP date.
        date: the header `Date`; by default that of now.
    """

    status: int
    retry_after: float | str | None = None
    date: str | None = None

    def answer(self, connection: Connection) -> None:
        headers = {"Content-Length": "0"}
        if self.retry_after is not None:
            headers["Retry-After"] = str(self.retry_after)
        if self.date is not None:
            headers["Date"] = self.date
        connection.send_head(self.status, headers)


@dataclass(frozen=True)
class Redirect:
    """Sends the client elsewhere, with status 302; to the resource itself, that is a loop."""

    location: str

    def answer(self, connection: Connection) -> None:
        connection.send_head(302, {"Location": self.location, "Content-Length": "0"})


@dataclass(frozen=True)
class Reset:
    """Sends so many bytes of the body (`None`: not even the headers), and resets the connection."""

    after: int | None = None

    def answer(self, connection: Connection) -> None:
        if self.after is not None:
            connection.send_part(self.after)
        connection.reset()


@dataclass(frozen=True)
class Truncated:
    """Sends so many bytes of the body, and closes the connection as if that were all."""

    after: int = 0

    def answer(self, connection: Connection) -> None:
        connection.send_part(self.after)


@dataclass(frozen=True)
class Dropped:
    """Closes the connection without an answer."""

    def answer(self, connection: Connection) -> None:
        pass


@dataclass(frozen=True)
class Down:
    """Closes the connection without an answer, and refuses all new ones for so many seconds."""

    seconds: float

    def answer(self, connection: Connection) -> None:
        connection.origin.go_down(self.seconds)


@dataclass(frozen=True)
class Slow:
    """Sends the body in pieces of so many bytes, and waits so many seconds before each."""

    seconds: float
    piece: int = 1024

    def answer(self, connection: Connection) -> None:
        connection.send_part(0)
        content = connection.content
        for start in range(0, len(content), self.piece):
            if connection.origin.stopped.wait(self.seconds):
                return
            connection.send(content[start : start + self.piece])


@dataclass(frozen=True)
class Hang:
    """Takes the request and never answers."""

    def answer(self, connection: Connection) -> None:
        connection.wait_for_end()


@dataclass(frozen=True)
class Malformed:
    """Answers with something that is no HTTP."""

    text: bytes = b"HELO what is this\r\n\r\n"

    def answer(self, connection: Connection) -> None:
        connection.send(self.text)
