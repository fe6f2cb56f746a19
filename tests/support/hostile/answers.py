"""Hostile answers of web servers: status lines, statuses and lengths."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

BODY = b"acorn"
OK = b"HTTP/1.1 200 OK\r\n"
FIVE = b"Content-Length: 5\r\n"


@dataclass(frozen=True)
class Hostile:
    """An answer to a `GET` request.

    Attributes:
        name: what is odd.
        said: the bytes of it.
        kept: the only body that may be kept, if any.
        fails: whether it may come out as a failure.
        end: what the server does after it: `close`, `reset` the connection, or `hold` it.
        more: bytes that follow again and again.
        slow: seconds between bytes, if they come one by one.
    """

    name: str
    said: bytes
    kept: bytes | None = None
    fails: bool = True
    end: str = "close"
    more: bytes = b""
    slow: float = 0.0

    @property
    def lasts(self) -> bool:
        """Whether only the client can end it."""
        return bool(self.more) or self.end == "hold"


def fails(name: str, said: bytes, end: str = "close", more: bytes = b"") -> Hostile:
    """One that has to come out as a failure."""
    return Hostile(name, said, end=end, more=more)


def well(name: str, said: bytes, kept: bytes = BODY) -> Hostile:
    """One that is odd and has to be taken all the same."""
    return Hostile(name, said, kept, fails=False)


def either(name: str, said: bytes, kept: bytes = BODY) -> Hostile:
    """One that HTTP allows to be taken, or to be refused."""
    return Hostile(name, said, kept)


def whole(headers: bytes = b"", body: bytes = BODY, status: bytes = b"HTTP/1.1 200 OK") -> bytes:
    """An answer with these headers and the length of its body."""
    return b"%b\r\n%bContent-Length: %d\r\n\r\n%b" % (status, headers, len(body), body)


def chunked(chunks: bytes, headers: bytes = b"") -> bytes:
    return OK + b"Transfer-Encoding: chunked\r\n" + headers + b"\r\n" + chunks


STATUS_LINES = {
    "another protocol": b"SSH-2.0-OpenSSH_9.2",
    "lower case": b"http/1.1 200 OK",
    "no version": b"HTTP 200 OK",
    "half a version": b"HTTP/1 200 OK",
    "a version of letters": b"HTTP/x.y 200 OK",
    "a version of many digits": b"HTTP/1.11 200 OK",
    "a negative version": b"HTTP/-1.1 200 OK",
    "two spaces": b"HTTP/1.1  200 OK",
    "a tab": b"HTTP/1.1\t200 OK",
    "a space before": b" HTTP/1.1 200 OK",
    "no status": b"HTTP/1.1",
    "an empty status": b"HTTP/1.1  OK",
    "a status of letters": b"HTTP/1.1 abc OK",
    "a status of two digits": b"HTTP/1.1 20 OK",
    "a status of four digits": b"HTTP/1.1 2000 OK",
    "a negative status": b"HTTP/1.1 -200 OK",
    "a status with a sign": b"HTTP/1.1 +200 OK",
    "a status with a point": b"HTTP/1.1 200.0 OK",
    "a status in hexadecimal digits": b"HTTP/1.1 0xC8 OK",
    "a status of other digits": "HTTP/1.1 \uff12\uff10\uff10 OK".encode(),
    "status 000": b"HTTP/1.1 000 OK",
    "status 099": b"HTTP/1.1 099 OK",
    "a zero byte": b"HTTP/1.1 200\x00 OK",
    "a zero byte before": b"\x00HTTP/1.1 200 OK",
    "a byte order mark": b"\xef\xbb\xbfHTTP/1.1 200 OK",
    "a request": b"GET / HTTP/1.1",
    "a carriage return within": b"HTTP/1.1 200 O\rK",
    "the protocol twice": b"HTTP/1.1 HTTP/1.1 200 OK",
}
REASONS = {
    "none": b"HTTP/1.1 200",
    "none, but a space": b"HTTP/1.1 200 ",
    "of escapes": b"HTTP/1.1 200 \x1b[31m",
    "of other letters": "HTTP/1.1 200 \u041f\u0440\u0435".encode(),
    "of bytes": b"HTTP/1.1 200 \xff\xfe\x80",
    "with a tab": b"HTTP/1.1 200 O\tK",
    "of 60,000 letters": b"HTTP/1.1 200 " + b"O" * 60_000,
}


def status_lines() -> Iterator[Hostile]:
    for name, line in STATUS_LINES.items():
        yield fails(f"a status line with {name}", whole(status=line))
    for name, line in REASONS.items():
        yield either(f"a reason {name}", whole(status=line))
    yield well("version 1.0", whole(status=b"HTTP/1.0 200 OK"))
    for version in (b"0.9", b"2.0", b"3.0", b"9.9"):
        yield either(f"version {version.decode()}", whole(status=b"HTTP/%b 200 OK" % version))
    yield fails("a reason of a million letters", whole(status=b"HTTP/1.1 200 " + b"O" * 10**6))
    yield either("an empty line before", b"\r\n" + whole())
    yield either("a hundred empty lines before", b"\r\n" * 100 + whole())
    yield fails("line ends of old Macs", whole().replace(b"\r\n", b"\r"))
    yield either("line ends of Unix", whole().replace(b"\r\n", b"\n"))
    yield fails("a body alone", BODY)
    yield fails("a page alone", b"<html><body>acorn</body></html>")
    yield fails("zero bytes", bytes(1000))
    yield fails("bytes", bytes(range(256)) * 4)
    yield fails("TLS", b"\x15\x03\x03\x00\x02\x02\x28")
    yield fails("HTTP/2 without asking", b"\x00\x00\x00\x04\x00\x00\x00\x00\x00")
    yield fails("nothing", b"")


KEPT_STATUSES = (200, 201, 203, 207, 208, 218, 226, 250, 299)


def statuses() -> Iterator[Hostile]:
    odd = [204, 205, 206, 300, 303, 304, 305, 306, 310, 399, 400, 402, 407, 416, 418]
    odd += [419, 421, 426, 429, 430, 431, 444, 449, 451, 494, 499, 500, 501, 505, 507, 508, 510]
    odd += [511, 520, 527, 530, 561, 598, 599, 600, 666, 700, 777, 800, 900, 999]
    for status in odd:
        yield fails(f"status {status}", whole(status=b"HTTP/1.1 %d Odd" % status))
    for status in KEPT_STATUSES:
        yield well(f"status {status}", whole(status=b"HTTP/1.1 %d Odd" % status))
    for status in (202, 204, 205, 304):
        yield fails(f"status {status} without a body", b"HTTP/1.1 %d Odd\r\n\r\n" % status)
        yield fails(
            f"status {status} with a body", b"HTTP/1.1 %d Odd\r\n" % status + FIVE + b"\r\nacorn"
        )


LENGTHS = {
    "negative": b"-5",
    "with a sign": b"+5",
    "with a point": b"5.0",
    "with an exponent": b"5e0",
    "in hexadecimal digits": b"0x5",
    "of letters": b"five",
    "empty": b"",
    "with a unit": b"5 B",
    "with an underscore": b"0_5",
    "two of them": b"5, 6",
    "with a zero byte": b"5\x00",
    "with a space": b"5 5",
    "with quotes": b'"5"',
    "of other digits": "\u0665".encode(),
    "with a semicolon": b"5;",
    "that is not a number": b"NaN",
    "without end": b"Infinity",
    "of 30 digits": b"9" * 30,
    "of 400 digits": b"9" * 400,
    "of 5,000 digits": b"9" * 5_000,
    "of 2**63": b"%d" % 2**63,
    "of 2**64 + 5": b"%d" % (2**64 + 5),
    "too large by one": b"6",
    "too large": b"5000",
}


def lengths() -> Iterator[Hostile]:
    for name, length in LENGTHS.items():
        said = OK + b"Content-Length: %b\r\n\r\nacorn" % length
        yield fails(f"a length {name}", said)
        yield fails(f"a length {name}, and HTTP/1.0", said.replace(b"1.1", b"1.0", 1))
    yield either("a length with zeros before", OK + b"Content-Length: 0005\r\n\r\nacorn")
    yield either("the same length twice", OK + FIVE * 2 + b"\r\nacorn")
    yield either("the same length a hundred times", OK + FIVE * 100 + b"\r\nacorn")
    yield either("the same length twice in one", OK + b"Content-Length: 5, 5\r\n\r\nacorn")
    yield fails("two lengths", OK + FIVE + b"Content-Length: 6\r\n\r\nacorn!")
    yield fails("two lengths, the other way", OK + b"Content-Length: 6\r\n" + FIVE + b"\r\nacorn!")
    yield either("a length with spaces around", OK + b"Content-Length:   5  \r\n\r\nacorn")
    yield either("a length with a tab", OK + b"Content-Length:\t5\r\n\r\nacorn")
    yield either("a length on a further line", OK + b"Content-Length:\r\n 5\r\n\r\nacorn")
    yield fails("a length and a space before the colon", OK + b"Content-Length : 5\r\n\r\nacorn")
    yield either("a length that is too small", OK + FIVE + b"\r\nacorn and more")
    yield either("a length and another answer", whole() + whole(body=b"other"))
    yield well("no length", OK + b"\r\nacorn")
    yield well("no length and no body", OK + b"\r\n", kept=b"")
    yield well("a length of 0", OK + b"Content-Length: 0\r\n\r\n", kept=b"")
    yield either("a length of 0 and a body", OK + b"Content-Length: 0\r\n\r\nacorn", kept=b"")
    yield well("no length, kept alive", OK + b"Connection: keep-alive\r\n\r\nacorn")
    yield well("no length, and HTTP/1.0", b"HTTP/1.0 200 OK\r\n\r\nacorn")
    yield Hostile("no length, reset", OK + b"\r\nacorn", end="reset")
