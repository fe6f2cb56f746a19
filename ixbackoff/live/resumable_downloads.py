"""What sync and async downloads do with headers, responses and the file, without network I/O."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import NamedTuple

import httpx2

from .._words.headers import moment
from .._words.judging import is_transient
from .._words.standard_commands import Download
from .errors import TooLarge
from .exchanges import Exchange, Progress
from .part_files import PartFile, PartOrigin, is_header

GAIN = 256 * 1024
"""A try opens another connection if the broken one delivered at least this many new bytes."""
OVERLAP = 64 * 1024  # the last bytes of a part, which the next range repeats, to compare them
CONTENT_RANGE = re.compile(r"bytes ([0-9]{1,20})-([0-9]{1,20})/([0-9]{1,20}|\*)")
LENGTH = re.compile("[0-9]{1,20}")
STRONG = re.compile(r'"[!#-~]+"')
"""One strong ETag that is not empty: an empty one does not tell versions apart."""
DISTANCE = 60.0
"""Seconds: a `Last-Modified` date that lies at least this far before `Date` is a strong validator
(RFC 9110, section 8.8.2.2, asks for 1 s, and for more if different clocks may have set them)."""


class Fetched(NamedTuple):
    """A complete download; `etag` is `None` if the server sent none."""

    etag: str | None
    size: int


class Arrival:
    """A download in progress; its part may hold bytes of an earlier try."""

    def __init__(
        self, command: Download, exchange: Exchange, part: PartFile, progress: Progress | None
    ) -> None:
        self.command = command
        self.exchange = exchange
        self.part = part
        self.progress = progress
        self.etag: str | None = None
        self.size: int | None = None  # of the whole resource, if known
        self.whole = False  # whether the part is complete
        self.source = sha256(str(exchange.url).partition("#")[0].encode()).hexdigest()
        self._before = 0  # the most bytes that the part has had
        self._overlap = b""  # the bytes that the response has to repeat first
        self._anew = False  # whether the whole file has to be requested again

    def headers(self) -> dict[str, str]:
        """Return the headers of the next request: a range, if the part can be resumed."""
        origin = self.part.origin
        self.exchange.in_parts = origin is not None and origin.source == self.source
        if origin is None or not self.exchange.in_parts:
            return {}
        return {"Range": f"bytes={self._first}-", "If-Range": origin.validator}

    @property
    def _first(self) -> int:
        return max(0, self.part.size - OVERLAP)

    def begins(self, response: httpx2.Response) -> bool:
        """Begin to take a response; return `False` if the whole file has to be requested next.

        Raises:
            ConnectionError: the server sends only a range, with the status of a whole file.
            TooLarge: the server announces more than `Limits.max_size`.
        """
        headers = response.headers
        if response.status_code == 206 and self._continues_with(headers):
            self._overlap = self.part.tail(self._first)
        elif response.status_code in (206, 416):
            self.part.begin(None)
            return False
        else:
            self._check_all(headers)
            self.size = length_of(headers)
            self.etag, self._overlap = etag_of(headers), b""
            self._check_size(self.size or 0)
            validator = validator_of(headers)
            self.part.begin(
                None if validator is None else PartOrigin(self.source, validator, self.size)
            )
        self._before = max(self._before, self.part.size)
        self._notify()
        return True

    def _continues_with(self, headers: Mapping[str, str]) -> bool:
        """Return whether a partial response is the requested range of the same version.

        A response without the validator of the part may be of another version. RFC 9110, section
        15.3.7, lets a server leave out `Last-Modified`, but an ETag only if the file has none.
        """
        origin = self.part.origin
        place = CONTENT_RANGE.fullmatch(headers.get("Content-Range", ""))
        if origin is None or place is None or is_encoded(headers):
            return False
        first, last = int(place[1]), int(place[2])
        self.size = origin.size if place[3] == "*" else int(place[3])
        by_etag = origin.validator.startswith('"')
        self.etag = etag_of(headers)
        length = headers.get("Content-Length", f"{last - first + 1}")
        return (
            first == self._first
            and self.part.size <= last + 1
            and LENGTH.fullmatch(length) is not None
            and int(length) == last - first + 1
            and origin.size in (None, self.size)
            and self.size is not None
            and last < self.size
            and headers.get("ETag" if by_etag else "Last-Modified") == origin.validator
        )

    def _check_all(self, headers: Mapping[str, str]) -> None:
        place = headers.get("Content-Range")
        found = CONTENT_RANGE.fullmatch(place or "")
        if place is not None and (
            found is None or int(found[1]) or found[3] == "*" or int(found[3]) != int(found[2]) + 1
        ):
            raise ConnectionError(f"{self.exchange.label}: the server sent a range as the whole")

    def take(self, chunk: bytes) -> None:
        """Write a piece of the body.

        Raises:
            ConnectionError: the range does not begin with the last bytes of the part.
            TooLarge: the body is larger than `Limits.max_size`.
            TimeoutError: the deadline has passed.
        """
        if self._overlap:
            common = min(len(self._overlap), len(chunk))
            if chunk[:common] != self._overlap[:common]:
                self._anew = True
                raise ConnectionError(
                    f"{self.exchange.label}: the server sent another range than requested"
                )
            self._overlap, chunk = self._overlap[common:], chunk[common:]
        self._check_size(self.part.size + len(chunk))
        self.exchange.deadline.check()
        self.part.write(chunk)
        self._notify()

    def check_whole(self) -> None:
        """End the download if its body is complete; raise ConnectionError otherwise."""
        if self._overlap or self.size not in (None, self.part.size):
            raise ConnectionError(
                f"{self.exchange.label}: only {self.part.size} of {self.size} bytes arrived"
            )
        self.whole = True

    def continues_after(self, failure: Exception) -> bool:
        """Return whether to continue within the same try; a permanent failure drops the part."""
        if self._anew:
            self._anew = False
            self.part.begin(None)
            return True
        if not is_transient(failure):
            self.part.origin = None
        # Bytes that a try gets again are no gain. Otherwise a server that by turns breaks off and
        # sends a wrong range, which empties the part, would get endless requests without a wait.
        gained = self.part.size - self._before
        self._before = max(self._before, self.part.size)
        return (
            isinstance(failure, ConnectionError)
            and self.part.origin is not None
            and gained >= GAIN
            and self.exchange.deadline.left > 0
        )

    def _check_size(self, size: int) -> None:
        most = self.exchange.limits.max_size
        if most is not None and size > most:
            self.part.origin = None
            raise TooLarge(
                f"{self.exchange.label}: it has {size} bytes or more, and the limit is {most}"
            )

    def _notify(self) -> None:
        if self.progress is not None:
            self.progress(self.command, self.part.size, self.size)

    @property
    def fetched(self) -> Fetched:
        return Fetched(self.etag, self.part.size)


def length_of(headers: Mapping[str, str]) -> int | None:
    """Return the bytes of the body of a response; `None` if the server does not announce them.

    >>> length_of({"Content-Length": "5"}), length_of({"Content-Length": "+5"}), length_of({})
    (5, None, None)
    """
    length = headers.get("Content-Length", "")
    return int(length) if LENGTH.fullmatch(length) else None


def etag_of(headers: Mapping[str, str]) -> str | None:
    """Return the ETag of a response; `None` if it has none, or an empty one.

    >>> etag_of({"ETag": 'W/"v1"'}), etag_of({"ETag": '""'})
    ('W/"v1"', None)
    """
    etag = headers.get("ETag", "").strip()
    return None if etag.removeprefix("W/") in ("", '""') else etag


def validator_of(headers: Mapping[str, str]) -> str | None:
    """Return the strong ETag or date by which a response can be resumed; `None` without one.

    >>> validator_of({"ETag": '"v1"'}), validator_of({"ETag": 'W/"v1"'})
    ('"v1"', None)
    """
    if is_encoded(headers) or headers.get("Accept-Ranges", "").lower() == "none":
        return None
    etag, modified = etag_of(headers), headers.get("Last-Modified", "")
    if etag is not None:
        return etag if STRONG.fullmatch(etag) else None
    if not is_header(modified):
        return None
    sent, changed = moment(headers.get("Date", "")), moment(modified)
    if sent is None or changed is None:
        return None
    return modified if sent - changed >= DISTANCE else None


def is_encoded(headers: Mapping[str, str]) -> bool:
    return headers.get("Content-Encoding", "identity").lower() not in ("", "identity")
