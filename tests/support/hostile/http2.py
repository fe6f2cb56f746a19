"""Hostile answers in frames of HTTP/2: what they say, and what may be kept of it."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from hpack import Encoder

from .answers import BODY, Hostile, either, fails, well

DATA, HEADERS, PRIORITY, RST, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = range(10)
END, ACK, ENDED_HEADERS, PADDED = 1, 1, 4, 8
USUAL = [(":status", "200")]


def frame(
    kind: int, flags: int, stream: int, payload: bytes = b"", size: int | None = None
) -> bytes:
    """A frame; `size` is the length that it says, if that is not the one of its payload."""
    length = len(payload) if size is None else size
    return struct.pack(">I", length)[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def block(headers: Sequence[tuple[str, str]]) -> bytes:
    return Encoder().encode(headers, huffman=False)


def head(*headers: tuple[str, str], end: bool = False, stream: int = 1) -> bytes:
    flags = ENDED_HEADERS | (END if end else 0)
    return frame(HEADERS, flags, stream, block(headers or USUAL))


def body(said: bytes = BODY, end: bool = True, stream: int = 1) -> bytes:
    return frame(DATA, END if end else 0, stream, said)


def settings(*pairs: tuple[int, int]) -> bytes:
    return frame(SETTINGS, 0, 0, b"".join(struct.pack(">HI", *pair) for pair in pairs))


def goaway(last: int, code: int = 0, more: bytes = b"") -> bytes:
    return frame(GOAWAY, 0, 0, struct.pack(">II", last, code) + more)


def reset(code: int, stream: int = 1) -> bytes:
    return frame(RST, 0, stream, struct.pack(">I", code))


START = settings()
OK = START + head()
FIVE = ("content-length", "5")


STATUSES = {
    "empty": "",
    "of letters": "abc",
    "negative": "-200",
    "with a point": "200.0",
    "of two digits": "20",
    "of four digits": "2000",
    "000": "000",
    "with a reason": "200 OK",
    "of other digits": "\uff12\uff10\uff10",
    "with a zero byte": "200\x00",
    **{f"{status}": f"{status}" for status in (101, 206, 302, 304, 404, 503, 600, 999)},
}
NEARLY = {"with a sign": "+200", "with a space": " 200", "with a line end": "200\r\n"}
EXTRA = {
    "another status": (":status", "404"),
    "the same status again": (":status", "200"),
    "an unknown pseudo-header": (":nuts", "b"),
    "a pseudo-header of requests": (":path", "/"),
    "capitals": ("ETag", '"v1"'),
    "an empty name": ("", "b"),
    "a space in its name": ("a b", "c"),
    "a line end": ("a", "b\r\nx: y"),
    "a line end in its ETag": ("etag", '"b\r\nx: y"'),
    "a line end in its name": ("a\r\nx", "y"),
    "a zero byte": ("a", "b\x00"),
    "a connection": ("connection", "close"),
    "a coding": ("transfer-encoding", "chunked"),
    "an upgrade": ("upgrade", "h2c"),
    "spaces around": ("a", " b "),
    "an escape": ("etag", '"\x1b[31m"'),
    "a host": ("host", "x"),
    "a header of 10,000 letters": ("a", "b" * 10_000),
}
BLOCKS = {
    "many headers": block([*USUAL, ("a", "b" * 16_000)]) + b"\xbe" * 200,
    "a table that is too large": b"\x3f\xff\xff\xff\x7f" + block(USUAL),
    "an index that is not there": b"\xff\xff\xff\xff\x0f",
    "an index of 0": b"\x80",
    "bytes in place of headers": bytes(range(256)),
    "half a header": block(USUAL)[:-1] + b"\x00\x05ab",
}


def heads() -> Iterator[Hostile]:
    for name, status in STATUSES.items():
        yield fails(f"a status {name}", START + head((":status", status), ("a", "b")) + body())
    for name, status in NEARLY.items():
        yield either(f"a status {name}", START + head((":status", status)) + body())
    # The HTTP library takes it for 200, and says nothing.
    yield either("no status", START + head(("a", "b")) + body())
    yield either("a status after a header", START + head(("a", "b"), *USUAL) + body())
    yield either("empty headers", START + frame(HEADERS, ENDED_HEADERS, 1) + body())
    for name, extra in EXTRA.items():
        yield either(f"a header with {name}", START + head(*USUAL, extra) + body())
    for name, given in BLOCKS.items():
        yield fails(name, START + frame(HEADERS, ENDED_HEADERS, 1, given) + body())
    first, rest = block(USUAL)[:1], block(USUAL)[1:]
    begun = START + frame(HEADERS, 0, 1, first)
    end = frame(CONTINUATION, ENDED_HEADERS, 1, rest)
    yield fails("no headers", START + body())
    yield either("headers in two frames", begun + end + body())
    yield fails("headers with another frame within", begun + body())
    yield fails("a part of no headers", START + end + body())
    for name, part in {"empty": b"", "full": block([("a", "b" * 4000)])}.items():
        more = frame(CONTINUATION, 0, 1, part) * 10
        yield fails(f"headers without an end, of {name} parts", begun, more=more)
    for status in ("100", "102", "103", "199"):
        informational = head((":status", status))
        yield either(f"{status} before", START + informational + head() + body())
        yield fails(f"{status} that ends all", START + head((":status", status), end=True))
        yield fails(f"{status} without an end", START, more=informational * 100)


def lengths() -> Iterator[Hostile]:
    for name, length in {
        "too small": "4",
        "too large": "6",
        "negative": "-5",
        "of letters": "five",
        "empty": "",
        "with a sign": "+5",
        "of 400 digits": "9" * 400,
        "of 5,000 digits": "9" * 5000,
        "two of them": "5, 6",
        "of 2**64 + 5": f"{2**64 + 5}",
        "with a point": "5.0",
        "of other digits": "\u0665",
        "with an underscore": "0_5",
    }.items():
        yield fails(f"a length {name}", START + head(*USUAL, ("content-length", length)) + body())
    yield fails("two lengths", START + head(*USUAL, FIVE, ("content-length", "6")) + body())
    yield either("the same length twice", START + head(*USUAL, FIVE, FIVE) + body())
    yield well("a length", START + head(*USUAL, FIVE) + body())
    yield well("no length", OK + body())
    yield well("no body", START + head(end=True), b"")
    yield well("an empty body", OK + body(b""), b"")
    yield well(
        "bytes one by one", OK + b"".join(body(bytes([c]), end=False) for c in BODY) + body(b"")
    )
    yield well("empty pieces", OK + body(b"", end=False) * 100 + body())
    yield fails("empty pieces without an end", OK, more=body(b"", end=False) * 1000)
    yield fails("a body without an end", OK, more=body(b"a" * 16_000, end=False))
    yield fails("a body that is not ended", OK + body(end=False))
    yield fails("a length and no body", START + head(*USUAL, FIVE, end=True))


def streams() -> Iterator[Hostile]:
    part = OK + body(b"ac", end=False)
    for code in (*range(14), 255, 2**32 - 1):
        yield fails(f"a reset {code} before", START + reset(code))
        yield fails(f"a reset {code} within", part + reset(code))
        yield fails(f"a farewell {code} before", START + goaway(0, code))
        yield fails(f"a farewell {code} within", part + goaway(1, code))
    yield either("a reset after all", OK + body() + reset(0))
    yield either("a farewell after all", OK + body() + goaway(1))
    yield either("a farewell to come", START + goaway(1) + head() + body())
    yield fails("a farewell to all streams", START + goaway(2**31 - 1))
    yield fails("a farewell of 16,000 bytes", START + goaway(0, 11, b"a" * 16_000))
    yield fails("a reset of no stream", START + frame(RST, 0, 0, bytes(4)))
    yield fails("a reset that is too short", OK + frame(RST, 0, 1, b"\0"))
    yield fails("a reset of a stream that is not there", START + reset(8, stream=99))
    for name, stream in {"another": 3, "the main": 0, "an even": 2}.items():
        yield fails(f"an answer on {name} stream", START + head(stream=stream) + body())
        yield fails(f"a body on {name} stream", OK + body(stream=stream))
    yield either("headers twice", OK + head() + body())
    yield either("a body after its end", OK + body() + body(b"more"))
    said = OK + body(end=False)
    yield either("trailers", said + head(("a", "b"), end=True))
    yield either("trailers with a status", said + head((":status", "404"), end=True))
    yield either("trailers with a length", said + head(("content-length", "9"), end=True))
    yield fails("trailers that do not end", said + head(("a", "b")))


ASKED = [(":method", "GET"), (":path", "/"), (":scheme", "https"), (":authority", "x")]
FORBIDDEN = {
    "settings on a stream": frame(SETTINGS, 0, 1),
    "settings of five bytes": frame(SETTINGS, 0, 0, b"acorn"),
    "settings that confirm with bytes": frame(SETTINGS, ACK, 0, bytes(6)),
    "settings with a window that is too large": settings((4, 2**31)),
    "settings with frames that are too small": settings((5, 100)),
    "settings with frames that are too large": settings((5, 2**24)),
    "settings with pushes of 2": settings((2, 2)),
    "a ping of seven bytes": frame(PING, 0, 0, bytes(7)),
    "a ping on a stream": frame(PING, 0, 1, bytes(8)),
    "a window of 0": frame(WINDOW, 0, 0, bytes(4)),
    "a window that overflows": frame(WINDOW, 0, 0, struct.pack(">I", 2**31 - 1)) * 2,
    "a window of three bytes": frame(WINDOW, 0, 0, bytes(3)),
    "a priority of itself": frame(PRIORITY, 0, 1, struct.pack(">IB", 1, 1)),
    "a priority of four bytes": frame(PRIORITY, 0, 1, bytes(4)),
    "a promise": frame(PUSH, ENDED_HEADERS, 1, struct.pack(">I", 2) + block(ASKED)),
    "zeros": bytes(1000),
}
ODD = {
    "settings that confirm too often": frame(SETTINGS, ACK, 0) * 50,
    "settings with no streams": settings((3, 0)),
    "settings with one stream": settings((3, 1)),
    "settings with no window": settings((4, 0)),
    "settings with no table": settings((1, 0)),
    "settings with a large table": settings((1, 2**32 - 1)),
    "settings with a small list": settings((6, 1)),
    "settings with a number that nobody knows": settings((4095, 7)),
    "a ping": frame(PING, 0, 0, bytes(8)),
    "a priority": frame(PRIORITY, 0, 1, struct.pack(">IB", 0, 1)),
    "a frame of another kind": frame(99, 0, 1, b"nuts"),
}
FLOODS = {
    "settings": settings((3, 100)),
    "pings": frame(PING, 0, 0, bytes(8)),
    "windows": frame(WINDOW, 0, 1, struct.pack(">I", 1)),
    "frames of another kind": frame(99, 0, 1, b"nuts"),
}


def frames() -> Iterator[Hostile]:
    for name, before in FORBIDDEN.items():
        yield fails(name, START + before + head() + body())
    for name, before in ODD.items():
        yield either(name, START + before + head() + body())
    for name, one in FLOODS.items():
        yield fails(f"{name} without an end", START, more=one * 500)
    yield fails("nothing", b"")
    yield either("no settings", head() + body())
    yield fails("HTTP/1.1", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nacorn")
    yield fails("bytes", bytes(range(256)))
    yield fails("a frame that is too large", OK + frame(DATA, END, 1, b"a" * 17_000))
    yield fails("a frame that says 16 million bytes", OK + frame(DATA, END, 1, BODY, 2**24 - 1))
    yield either("flags that nobody knows", OK + frame(DATA, 0xF1, 1, BODY))
    yield either("a bit that is reserved", OK + frame(DATA, END, 2**31 + 1, BODY))
    padded = END | PADDED
    yield either("padding", OK + frame(DATA, padded, 1, b"\x03" + BODY + bytes(3)))
    yield fails("more padding than body", OK + frame(DATA, padded, 1, b"\xff" + BODY))
    yield fails("padding without a length", OK + frame(DATA, padded, 1))
    for place in range(0, len(OK + body()), 3):
        said = (OK + body())[:place]
        yield fails(f"close after {place} bytes", said)
        yield fails(f"reset after {place} bytes", said, "reset")
    yield fails("no body, held", OK, "hold")
    yield fails("no answer, held", START, "hold")


def http2_answers() -> list[Hostile]:
    return [*heads(), *lengths(), *streams(), *frames()]
