"""The documents that an origin serves, and its answers to requests without a fault."""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import NamedTuple

from .received import ReceivedRequest

ONE_RANGE = re.compile("bytes=(?=.*[0-9])([0-9]*)-([0-9]*)")
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE")


@dataclass(frozen=True)
class Document:
    """The content at a path of an origin, with its ETag and further headers.

    >>> Document(b"acorn").all_headers
    {'ETag': '"84f0ceca5ebebf54"'}
    >>> Document(b"{}", etag=None, headers={"Content-Type": "application/json"}).all_headers
    {'Content-Type': 'application/json'}

    Attributes:
        content: the bytes of the body.
        etag: the value of the header `ETag`, with its quotation marks; by default a hash of the
            content. `None` leaves the header out.
        headers: further headers, such as `Content-Type`.
    """

    content: bytes
    etag: str | None = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)

    @property
    def all_headers(self) -> dict[str, str]:
        """The headers that are sent with the content, the ETag included."""
        if self.etag is None:
            return dict(self.headers)
        etag = self.etag or f'"{sha256(self.content).hexdigest()[:16]}"'
        return {"ETag": etag, **self.headers}


class Answer(NamedTuple):
    """An answer of a web server: its status, its headers and its body.

    >>> Answer(200, body=b"acorn")
    Answer(status=200, headers={}, body=b'acorn')
    """

    status: int
    headers: Mapping[str, str] = {}
    body: bytes = b""


def carried_out(
    request: ReceivedRequest, resources: MutableMapping[str, bytes | Document]
) -> Answer:
    """Carry out a request as `Origin` describes it.

    A missing resource is answered with 404, an unknown method with 405, an empty range with 416.
    If `If-Range` does not match the resource, the range is ignored.
    """
    stored = resources.get(request.path)
    if request.method not in METHODS:
        return Answer(405, {"Allow": ", ".join(METHODS)})
    if request.method == "PUT":
        new = resources[request.path] = Document(request.body)
        return Answer(201 if stored is None else 204, new.all_headers)
    if stored is None:
        return Answer(404)
    if request.method == "DELETE":
        del resources[request.path]
        return Answer(204)
    resource = Document(stored) if isinstance(stored, bytes) else stored
    headers = resource.all_headers
    if request.method != "POST" and is_known(request, headers.get("ETag")):
        return Answer(304, headers)
    whole = Answer(200, headers, resource.content)
    return ranged(request, whole) if request.method == "GET" else whole


def ranged(request: ReceivedRequest, whole: Answer) -> Answer:
    """Return the part of an answer that a range asks for; if no range applies, the whole."""
    asked = ONE_RANGE.fullmatch(request.headers.get("range", ""))
    condition = request.headers.get("if-range")
    kind = "ETag" if (condition or "").startswith('"') else "Last-Modified"
    if asked is None or condition not in (None, whole.headers.get(kind)):
        return whole
    size = len(whole.body)
    first, last = asked.groups()
    if first:
        start, end = int(first), min(int(last or size), size - 1)
    else:
        start, end = max(0, size - int(last)), size - 1
    if not start <= end:
        return Answer(416, {"Content-Range": f"bytes */{size}"})
    headers = {**whole.headers, "Content-Range": f"bytes {start}-{end}/{size}"}
    return Answer(206, headers, whole.body[start : end + 1])


def is_known(request: ReceivedRequest, etag: str | None) -> bool:
    """Return whether `If-None-Match` names this ETag, which is compared weakly."""
    listed = request.headers.get("if-none-match", "").split(",")
    known = [each.strip().removeprefix("W/") for each in listed]
    return etag is not None and ("*" in known or etag.removeprefix("W/") in known)
