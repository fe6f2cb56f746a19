"""Hostile answers of web servers: codings, chunks, and bodies that end early or never."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from itertools import product

from .answers import BODY, FIVE, OK, Hostile, chunked, either, fails, well, whole

BLOCK = 64 * 1024

CODINGS = {
    "twice": b"chunked, chunked",
    "after gzip": b"gzip, chunked",
    "before gzip": b"chunked, gzip",
    "misspelled": b"xchunked",
    "with a parameter": b"chunked;q=1",
    "in quotes": b'"chunked"',
    "with a zero byte": b"chunked\x00",
    "with a vertical tab": b"\x0bchunked",
    "with a comma": b",chunked",
    "unknown": b"nuts",
    "identity": b"identity",
    "empty": b"",
    "trailers": b"trailers",
    "with a line feed": b"chunked\n",
}
SIZES = {
    "negative": b"-5",
    "with a sign": b"+5",
    "with 0x": b"0x5",
    "with a space before": b" 5",
    "with an underscore": b"0_5",
    "empty": b"",
    "of letters": b"five",
    "of other digits": "\u0665".encode(),
    "with a point": b"5.0",
    "with a zero byte": b"5\x00",
    "with a comma": b"5,",
    "of 17 digits": b"1" + b"0" * 15 + b"5",
    "of 21 digits": b"f" * 21,
    "of 2**64 + 5": b"10000000000000005",
    "of 60,000 zeros": b"0" * 60_000 + b"5",
    "too small by one": b"4",
    "too small": b"1",
    "too large by one": b"6",
    "too large": b"50",
}


def codings() -> Iterator[Hostile]:
    five = b"5\r\nacorn\r\n0\r\n\r\n"
    for name, coding in CODINGS.items():
        said = OK + b"Transfer-Encoding: %b\r\n\r\n" % coding
        yield Hostile(f"a coding {name}", said + five)
        yield Hostile(f"a coding {name}, and a length", said[:-2] + FIVE + b"\r\n" + five)
    yield either("a coding in capitals", chunked(five).replace(b"chunked", b"CHUNKED"))
    yield either("a coding on two lines", chunked(five, b"Transfer-Encoding: identity\r\n"))
    yield fails(
        "a coding with a space before the colon", chunked(five).replace(b"ding:", b"ding :")
    )
    yield either("a coding and a length", chunked(five, FIVE))
    yield either("a coding and a length that is wrong", chunked(five, b"Content-Length: 3\r\n"))
    yield Hostile("a coding, and HTTP/1.0", chunked(five).replace(b"1.1", b"1.0", 1), BODY)


def chunks() -> Iterator[Hostile]:
    for name, size in SIZES.items():
        yield fails(f"a chunk whose size is {name}", chunked(b"%b\r\nacorn\r\n0\r\n\r\n" % size))
    end = b"0\r\n\r\n"
    yield well("a size with zeros before", chunked(b"0005\r\nacorn\r\n" + end))
    yield well("a size in capitals", chunked(b"A\r\nacornacorn\r\n" + end, b""), BODY * 2)
    yield well("chunks of one byte", chunked(b"".join(b"1\r\n%c\r\n" % c for c in BODY) + end))
    yield either("a size with a space behind", chunked(b"5 \r\nacorn\r\n" + end))
    yield either("an extension", chunked(b"5;a=b\r\nacorn\r\n" + end))
    yield either("an extension in quotes", chunked(b'5;a="b;c"\r\nacorn\r\n' + end))
    yield either("an extension without a name", chunked(b"5;\r\nacorn\r\n" + end))
    yield either(
        "an extension of 9,000 letters", chunked(b"5;" + b"a" * 9_000 + b"\r\nacorn\r\n0\r\n\r\n")
    )
    yield fails(
        "an extension of a million letters", chunked(b"5;" + b"a" * 10**6 + b"\r\nacorn\r\n" + end)
    )
    yield either("an extension with a zero byte", chunked(b"5;\x00\r\nacorn\r\n" + end))
    yield fails("no line end after a chunk", chunked(b"5\r\nacorn" + end))
    yield fails("a line end of old Macs after a size", chunked(b"5\racorn\r\n" + end))
    yield fails("a line end of Unix after a chunk", chunked(b"5\r\nacorn\n" + end))
    yield either("line ends of Unix in chunks", chunked(b"5\nacorn\n0\n\n"))
    yield fails("two line ends after a chunk", chunked(b"5\r\nacorn\r\n\r\n" + end))
    yield fails("no last chunk", chunked(b"5\r\nacorn\r\n"))
    yield fails("no end after the last chunk", chunked(b"5\r\nacorn\r\n0\r\n"))
    yield fails("half an end after the last chunk", chunked(b"5\r\nacorn\r\n0\r\n\r"))
    yield fails("a last chunk without a line end", chunked(b"5\r\nacorn\r\n0"))
    yield either("a last chunk of many zeros", chunked(b"5\r\nacorn\r\n000000\r\n\r\n"))
    yield either("bytes after the last chunk", chunked(b"5\r\nacorn\r\n" + end + b"and more"))
    yield either("an answer after the last chunk", chunked(b"5\r\nacorn\r\n" + end + whole()))
    yield fails("no chunks", chunked(b""))
    yield fails("no chunks, and a body", chunked(BODY))
    yield well("the last chunk alone", chunked(end), kept=b"")
    for name, trailers in {
        "a length": b"Content-Length: 7\r\n",
        "an ETag": b'ETag: "v2"\r\n',
        "a coding": b"Transfer-Encoding: chunked\r\n",
        "a place": b"Location: http://127.0.0.1:1/\r\n",
        "a status line": b"HTTP/1.1 200 OK\r\n",
        "no colon": b"nonsense\r\n",
        "a zero byte": b"A: \x00\r\n",
    }.items():
        yield either(f"trailers with {name}", chunked(b"5\r\nacorn\r\n0\r\n" + trailers + b"\r\n"))
    many = b"".join(b"T%d: a\r\n" % number for number in range(20_000))
    yield fails("20,000 trailers", chunked(b"5\r\nacorn\r\n0\r\n" + many + b"\r\n"))


def bombs() -> Iterator[Hostile]:
    bomb = gzip.compress(bytes(10 * 2**20))
    for coding, body in {
        "gzip": bomb,
        "deflate": zlib.compress(bytes(10 * 2**20)),
        "br": b"\x8b\x02\x80acorn\x03",
        "zstd": b"\x28\xb5\x2f\xfd\x04\x00",
        "gzip, gzip": gzip.compress(bomb),
        "nuts": BODY,
        "identity": BODY,
        "": BODY,
    }.items():
        header = b"Content-Encoding: %b\r\n" % coding.encode()
        yield well(f"an encoding {coding or 'without a name'}", whole(header, body), body)
    yield well("fifty encodings", whole(b"Content-Encoding: gzip\r\n" * 50, BODY))


def ends() -> Iterator[Hostile]:
    """A short answer that ends, in each way, after each of its bytes."""
    answers = {
        "": whole(b'ETag: "v1"\r\n'),
        " in chunks": chunked(b"2\r\nac\r\n3\r\norn\r\n0\r\n\r\n"),
    }
    for (name, said), end in product(answers.items(), ("close", "reset")):
        for place in range(len(said)):
            yield fails(f"{end} after {place} bytes{name}", said[:place], end)
        yield Hostile(f"{end} after all{name}", said, BODY, fails=end == "reset", end=end)
    for place in range(0, len(answers[""]), 7):
        yield fails(f"held after {place} bytes", answers[""][:place], "hold")


def endless() -> Iterator[Hostile]:
    block = b"a" * BLOCK
    for name, begin, more in [
        ("status line", b"HTTP/1.1 200 ", block),
        ("header", OK + b"A: ", block),
        ("headers", OK, b"A: b\r\n" * 1000),
        ("further lines", OK + b"A: b\r\n", b" c\r\n" * 1000),
        ("empty lines", b"", b"\r\n" * 1000),
        ("body", OK + b"\r\n", block),
        ("body with a length", OK + b"Content-Length: 999999999999\r\n\r\n", block),
        ("chunks", chunked(b""), b"10000\r\n" + block + b"\r\n"),
        ("chunks of one byte", chunked(b""), b"1\r\na\r\n" * 1000),
        ("size of a chunk", chunked(b""), b"0" * BLOCK),
        ("extension of a chunk", chunked(b"5;"), block),
        ("trailer", chunked(b"5\r\nacorn\r\n0\r\nA: "), block),
        ("trailers", chunked(b"5\r\nacorn\r\n0\r\n"), b"A: b\r\n" * 1000),
        ("body of an error", b"HTTP/1.1 500 No\r\n\r\n", block),
        (
            "body of an error in chunks",
            chunked(b"").replace(b"200", b"404"),
            b"10000\r\n" + block + b"\r\n",
        ),
        ("body of a redirect", b"HTTP/1.1 302 F\r\nLocation: {path}\r\n\r\n", block),
        ("noise", b"", bytes(range(256)) * 256),
    ]:
        yield fails(f"endless {name}", begin, more=more)
    yield Hostile("an endless tail", whole(), BODY, more=block)


def drips() -> Iterator[Hostile]:
    for name, said in {
        "status line": b"HTTP/1.1 200 OK" + b"K" * 10**4,
        "header": OK + b"A: " + b"b" * 10**4,
        "body": OK + b"Content-Length: 10000\r\n\r\n" + b"a" * 10**4,
        "body without a length": OK + b"\r\n" + b"a" * 10**4,
        "chunks": chunked(b"1\r\na\r\n" * 10**4),
        "size of a chunk": chunked(b"0" * 10**4),
        "trailer": chunked(b"0\r\nA: " + b"b" * 10**4),
        "error": b"HTTP/1.1 503 No\r\nContent-Length: 10000\r\n\r\n" + b"a" * 10**4,
    }.items():
        yield Hostile(f"a {name} that drips", said, slow=0.01, end="hold")
