"""Hostile answers of web servers: headers, ETags, redirects, and answers before the answer."""

from __future__ import annotations

from collections.abc import Iterator

from .answers import FIVE, OK, Hostile, either, fails, whole

HEADERS = {
    "a header without a name": b": a\r\n",
    "a header without a colon": b"nonsense\r\n",
    "a header with a space in its name": b"A b: c\r\n",
    "a header with a space before its colon": b"A : b\r\n",
    "a header with a zero byte in its name": b"A\x00: b\r\n",
    "a header with a zero byte": b"A: b\x00c\r\n",
    "a header with a carriage return": b"A: b\rc\r\n",
    "a header with a carriage return before its end": b"A: b\r\r\n",
    "a header with an escape": b"A: \x1b[31m\r\n",
    "a header with a bell": b"A: \x07\r\n",
    "a header with a vertical tab": b"A: \x0bb\r\n",
    "a header with letters in its name": "É: b\r\n".encode(),
    "a header with parentheses in its name": b"A(b): c\r\n",
    "a header with a quote in its name": b'A": c\r\n',
    "a header on a line before all": b" A: b\r\n",
    "a further line": b"A: b\r\n c\r\n",
    "a further line that is empty": b"A: b\r\n \r\n",
    "a thousand further lines": b"A: b\r\n" + b" c\r\n" * 1_000,
    "a header of 8-bit letters": b"A: \xe9\xff\r\n",
    "a header of 50,000 letters": b"A: " + b"b" * 50_000 + b"\r\n",
    "a header with a name of 50,000 letters": b"A" * 50_000 + b": b\r\n",
    "3,000 headers": b"".join(b"A%d: b\r\n" % number for number in range(3_000)),
    "a thousand cookies": b"Set-Cookie: a=b\r\n" * 1_000,
    "connections of its own": b"Connection: keep-alive, close, upgrade, nuts\r\n",
    "an upgrade": b"Upgrade: h2c\r\nConnection: Upgrade\r\n",
    "a refresh": b"Refresh: 0; url=http://127.0.0.1:1/\r\n",
    "a place": b"Location: http://127.0.0.1:1/\r\n",
    "a place of its content": b"Content-Location: http://127.0.0.1:1/\r\n",
    "a range": b"Content-Range: bytes 0-4/5\r\n",
    "a range of another size": b"Content-Range: bytes 0-4/500\r\n",
    "no ranges": b"Accept-Ranges: none\r\n",
    "a length of its own": b"X-Content-Length: 500\r\n",
    "a digest that is wrong": b"Content-MD5: AAAAAAAAAAAAAAAAAAAAAA==\r\n",
    "a kind with a line end": b"Content-Type: text/html\r\n\tcharset=utf-7\r\n",
    "a name of a file": b'Content-Disposition: attachment; filename="../../etc/passwd"\r\n',
    "a time to wait": b"Retry-After: 1000000000\r\n",
}
TOO_LARGE = {
    "a header of 200,000 letters": b"A: " + b"b" * 200_000 + b"\r\n",
    "a header of 10 million letters": b"A: " + b"b" * 10**7 + b"\r\n",
    "100,000 headers": b"".join(b"A%d: b\r\n" % number for number in range(100_000)),
    "100,000 cookies": b"Set-Cookie: a=b\r\n" * 100_000,
}


def headers() -> Iterator[Hostile]:
    for name, header in HEADERS.items():
        yield either(name, whole(header))
    for name, header in TOO_LARGE.items():
        yield fails(name, whole(header))
    yield fails("headers without an end", OK + FIVE)
    yield fails("a header without an end", OK + b"Content-Len")
    yield fails("headers in the place of a body", OK + FIVE + b"\r\nA: b")


ETAGS = {
    "empty": b"",
    "empty quotes": b'""',
    "not quoted": b"v1",
    "half quoted": b'"v1',
    "weak": b'W/"v1"',
    "weak, small": b'w/"v1"',
    "two of them": b'"v1", "v2"',
    "an asterisk": b"*",
    "an escape": b'"\x1b[31m"',
    "8-bit letters": b'"\xe9\xff"',
    "other letters": '"\u0436\u0435\u043b"'.encode(),
    "quotes within": b'"a"b"',
    "SQL": b'"\'; DROP TABLE copies; --"',
    "markup": b'"[/red][link=x]"',
    "a path": b'"../../etc/passwd"',
    "a request": b'"v1 HTTP/1.1"',
    "20,000 letters": b'"' + b"v" * 20_000 + b'"',
    "a space": b'" "',
    "null": b"null",
}


def etags() -> Iterator[Hostile]:
    for name, etag in ETAGS.items():
        yield either(f"an ETag: {name}", whole(b"ETag: %b\r\n" % etag))
    yield either("two ETags", whole(b'ETag: "v1"\r\nETag: "v2"\r\n'))
    yield either("a hundred ETags", whole(b'ETag: "v1"\r\n' * 100))
    yield fails("an ETag with a zero byte", whole(b'ETag: "\x00"\r\n'))
    yield either("an ETag with a line end", whole(b'ETag: "v1\r\nX-Odd: y"\r\n'))


def informational() -> Iterator[Hostile]:
    for status in (100, 102, 103, 110, 150, 199):
        before = b"HTTP/1.1 %d Odd\r\n\r\n" % status
        yield either(f"{status} before", before + whole())
        yield either(f"{status} a hundred times before", before * 100 + whole())
        yield fails(f"{status} alone", before)
        yield fails(f"{status} without an end", b"", more=before)
    hints = b"HTTP/1.1 103 Early\r\nLink: </a>\r\nContent-Length: 7\r\n\r\n"
    yield either("early hints with a length", hints + whole())
    yield Hostile("100 with a body", b"HTTP/1.1 100 Go on\r\n" + FIVE + b"\r\nother" + whole())
    yield fails("101 and another protocol", b"HTTP/1.1 101 Yes\r\nUpgrade: nuts\r\n\r\nacorn")
    yield fails("101 and an answer", b"HTTP/1.1 101 Yes\r\nUpgrade: h2c\r\n\r\n" + whole())
    yield fails("101, held", b"HTTP/1.1 101 Yes\r\n\r\n", end="hold")


PLACES = {
    "empty": b"",
    "a space": b" ",
    "a fragment": b"#a",
    "itself": b"{path}",
    "another host that is not there": b"http://nuts.invalid/a",
    "another protocol": b"ftp://127.0.0.1/a",
    "a script": b"javascript:alert(1)",
    "data": b"data:text/plain,acorn",
    "a file": b"file:///etc/passwd",
    "about": b"about:blank",
    "no scheme": b"://127.0.0.1/a",
    "no host": b"http:///a",
    "no host but a port": b"http://:80/a",
    "a host without an end": b"http://[::1/a",
    "a host that is not one": b"http://[nuts]/a",
    "a host with a space": b"http://a b/a",
    "a host with a zero byte": b"http://a\x00b/a",
    "a host of 300 letters": b"http://" + b"a" * 300 + b"/a",
    "a host of other letters": "http://\u0436\u0435\u043b.invalid/a".encode(),
    "a host of bytes": b"http://\xff\xfe/a",
    "a host in escapes": b"http://%31%32%37.0.0.1:1/a",
    "a port 0": b"http://127.0.0.1:0/a",
    "a port 65536": b"http://127.0.0.1:65536/a",
    "a port of 100 digits": b"http://127.0.0.1:" + b"9" * 100 + b"/a",
    "a port of letters": b"http://127.0.0.1:nuts/a",
    "a negative port": b"http://127.0.0.1:-1/a",
    "a closed port": b"http://127.0.0.1:1/a",
    "a user": b"http://sesame:opensaysme@127.0.0.1:1/a",
    "a user and two signs": b"http://a@b@127.0.0.1:1/a",
    "backslashes": b"http:\\\\127.0.0.1:1\\a",
    "an escape": b"http://127.0.0.1:1/\x1b[31m",
    "a bell": b"/\x07",
    "half an escape": b"/%",
    "50,000 letters": b"/" + b"a" * 50_000,
    "70,000 letters": b"http://127.0.0.1:1/" + b"a" * 70_000,
    "two slashes": b"//",
    "many points": b"/../../../../etc/passwd",
    "SQL": b"/'; DROP TABLE copies; --",
    "a query alone": b"?a",
}


def redirects() -> Iterator[Hostile]:
    for name, place in PLACES.items():
        head = b"HTTP/1.1 302 Found\r\nLocation: %b\r\nContent-Length: 0\r\n\r\n"
        yield fails(f"a redirect to {name}", head % place)
    for status in (300, 301, 303, 304, 305, 306, 307, 308, 309, 399):
        head = b"HTTP/1.1 %d Odd\r\nLocation: {path}\r\nContent-Length: 0\r\n\r\n"
        yield fails(f"a redirect to itself by {status}", head % status)
    twice = b"Location: http://127.0.0.1:1/a\r\nLocation: http://127.0.0.1:1/b\r\n"
    yield fails("a redirect to two places", whole(twice, b"", b"HTTP/1.1 302 Found"))
    yield fails(
        "a redirect with a large body",
        whole(b"Location: {path}\r\n", bytes(10**6), b"HTTP/1.1 302 F"),
    )


def parts() -> Iterator[Hostile]:
    for name, header in {
        "the whole": b"Content-Range: bytes 0-4/5\r\n",
        "a part": b"Content-Range: bytes 0-4/500\r\n",
        "no place": b"",
        "no size": b"Content-Range: bytes */5\r\n",
        "several": b"Content-Type: multipart/byteranges; boundary=a\r\n",
    }.items():
        yield fails(
            f"206 that nobody asked for: {name}", whole(header, status=b"HTTP/1.1 206 Part")
        )
