"""A download as it arrives: what is asked for, what an answer means, and where the bytes go.

Without any I/O but to the file: sync and async downloads share it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from hashlib import sha256
from typing import NamedTuple

import httpx2

from .._words.verdicts import is_transient
from .._words.vocabulary import Download
from .exchanges import Exchange, Progress
from .files import Origin, PartFile
from .refusals import TooLarge

GAIN = 256 * 1024
"""Bytes that a connection has to bring if another one is to follow it within the same try."""

CONTENT_RANGE = re.compile(r"bytes ([0-9]{1,20})-([0-9]{1,20})/([0-9]{1,20}|\*)")
LENGTH = re.compile("[0-9]{1,20}")
DISTANCE = 60.0
"""Seconds by which a resource is older than an answer with it, if its date is to tell its bytes
from those of a later one (RFC 9110, section 8.8.2.2)."""


class Fetched(NamedTuple):
    """A download that is complete.

    Attributes:
        etag: the ETag that came with the bytes, if any.
        size: how many bytes there are.
    """

    etag: str | None
    size: int


class Arrival:
    """One download.

    Args:
        command: the command.
        exchange: the request.
        part: the file that the bytes go to; it may have some already.
        progress: told how far it is.

    Attributes:
        etag: the ETag that came with the bytes, if any.
        size: the bytes of the whole, if that is known.
        whole: true once all is there.
        source: what stands for the URL beside the part: a hash, since the URL may hold secrets.
    """

    def __init__(
        self, command: Download, exchange: Exchange, part: PartFile, progress: Progress | None
    ) -> None:
        self.command = command
        self.exchange = exchange
        self.part = part
        self.progress = progress
        self.etag: str | None = None
        self.size: int | None = None
        self.whole = False
        self.source = sha256(str(exchange.url).partition("#")[0].encode()).hexdigest()
        self._before = 0
        self._check = b""
        self._anew = False

    def headers(self) -> dict[str, str]:
        """Return the headers of the next request: for what is missing, if something is there.

        The last byte is asked for again, since a part that is complete would leave nothing to ask
        for.
        """
        origin = self.part.origin
        self.exchange.in_parts = origin is not None and origin.source == self.source
        if origin is None or not self.exchange.in_parts:
            return {}
        return {"Range": f"bytes={self.part.size - 1}-", "If-Range": origin.validator}

    def begins(self, answer: httpx2.Response) -> bool:
        """Begin to take an answer; return false if the whole has to be asked for instead.

        Raises:
            TooLarge: the server announces more than `Limits.max_size`.
        """
        headers = answer.headers
        if answer.status_code == 206 and self.goes_on_with(headers):
            self._check = self.part.last_byte()
            self.part.cut(self.part.size - 1)
        elif answer.status_code in (206, 416):
            self.part.begin(None)
            return False
        else:
            self.size = length_of(headers)
            self.etag, self._check = headers.get("ETag"), b""
            self.check_size(self.size or 0)
            validator = validator_of(headers)
            known = None if validator is None else Origin(self.source, validator, self.size)
            self.part.begin(known)
        self._before = self.part.size
        self.tell()
        return True

    def goes_on_with(self, headers: Mapping[str, str]) -> bool:
        """Return whether a part that came is the one that was asked for."""
        origin = self.part.origin
        place = CONTENT_RANGE.fullmatch(headers.get("Content-Range", ""))
        if origin is None or place is None or is_encoded(headers):
            return False
        first, last = int(place[1]), int(place[2])
        self.size = origin.size if place[3] == "*" else int(place[3])
        by_etag = origin.validator.startswith('"')
        self.etag = headers.get("ETag", origin.validator if by_etag else None)
        same = headers.get("ETag" if by_etag else "Last-Modified", origin.validator)
        length = headers.get("Content-Length", f"{last - first + 1}")
        return (
            first == self.part.size - 1
            and first <= last
            and LENGTH.fullmatch(length) is not None
            and int(length) == last - first + 1
            and origin.size in (None, self.size)
            and (self.size is None or last < self.size)
            and same == origin.validator
        )

    def take(self, chunk: bytes) -> None:
        """Write a piece of the body.

        Raises:
            ConnectionError: it is not what was asked for.
            TooLarge: the body is larger than `Limits.max_size`.
            TimeoutError: the deadline has passed.
        """
        if self._check and chunk:
            if not chunk.startswith(self._check):
                self._anew = True
                raise ConnectionError(
                    f"{self.exchange.asked}: another part came than was asked for"
                )
            self._check = b""
        self.check_size(self.part.size + len(chunk))
        self.exchange.deadline.check()
        self.part.write(chunk)
        self.tell()

    def check_whole(self) -> None:
        """End the download.

        Raises:
            ConnectionError: something is missing.
        """
        if self.size not in (None, self.part.size):
            raise ConnectionError(
                f"{self.exchange.asked}: only {self.part.size} of {self.size} bytes came"
            )
        self.whole = True

    def goes_on(self, failure: Exception) -> bool:
        """Return whether to ask for the rest at once, after a failure.

        The part does not stay after a failure that another try would not help.
        """
        if self._anew:
            self._anew = False
            self.part.begin(None)
            return True
        if not is_transient(failure):
            self.part.origin = None
        gained = self.part.size - self._before
        self._before = self.part.size
        return (
            isinstance(failure, ConnectionError)
            and self.part.origin is not None
            and gained >= GAIN
            and self.exchange.deadline.left > 0
        )

    def check_size(self, size: int) -> None:
        most = self.exchange.limits.max_size
        if most is not None and size > most:
            self.part.origin = None
            raise TooLarge(
                f"{self.exchange.asked}: it has {size} bytes or more, and the limit is {most}"
            )

    def tell(self) -> None:
        if self.progress is not None:
            self.progress(self.command, self.part.size, self.size)

    @property
    def fetched(self) -> Fetched:
        return Fetched(self.etag, self.part.size)


def length_of(headers: Mapping[str, str]) -> int | None:
    """Return how many bytes the body of an answer has, if the server says so.

    >>> length_of({"Content-Length": "5"}), length_of({"Content-Length": "+5"}), length_of({})
    (5, None, None)
    """
    length = headers.get("Content-Length", "")
    return int(length) if LENGTH.fullmatch(length) else None


def validator_of(headers: Mapping[str, str]) -> str | None:
    """Return an ETag or a date that changes whenever the bytes do, if there is one.

    >>> validator_of({"ETag": '"v1"'}), validator_of({"ETag": 'W/"v1"'})
    ('"v1"', None)
    """
    if is_encoded(headers) or headers.get("Accept-Ranges", "").lower() == "none":
        return None
    etag, modified = headers.get("ETag"), headers.get("Last-Modified", "")
    if not ((etag or modified).isascii() and (etag or modified).isprintable()):
        return None  # no header of a request can say it
    if etag is not None:
        return etag if len(etag) > 1 and etag[0] == etag[-1] == '"' else None
    try:
        age = parsedate_to_datetime(headers.get("Date", "")) - parsedate_to_datetime(modified)
    except (TypeError, ValueError):
        return None
    return modified if age.total_seconds() >= DISTANCE else None


def is_encoded(headers: Mapping[str, str]) -> bool:
    return headers.get("Content-Encoding", "identity").lower() not in ("", "identity")
