"""Documents that an origin serves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256


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
