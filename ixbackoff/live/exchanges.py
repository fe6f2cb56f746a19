"""One question to a web server: all that its two drivers, sync and async, share. It does no I/O."""

from __future__ import annotations

import os
import socket
import ssl
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import TypeAlias

import httpx2

from .._words.vocabulary import Download, without_secrets
from .answers import failure_of_status
from .limits import Limits
from .refusals import RedirectError, TooLarge
from .times import Deadline

Progress: TypeAlias = Callable[[Download, int, int | None], None]
"""Told of a download, the bytes that it has got, and those that it will get, where it is known."""

ADDRESS = "http://host/path or https://host/path"
CONNECTION_ERRORS = (
    ConnectionRefusedError,
    ConnectionResetError,
    ConnectionAbortedError,
    BrokenPipeError,
)


class Exchange:
    """A question, the redirects on its way, and what may go wrong.

    Raises:
        ValueError: `url` is not one of `http` or `https`.
    """

    # A copy is of what the server keeps, with its length and its ETag, so no encoding is asked for;
    # one that comes nevertheless is part of what it keeps.
    headers = {"Accept-Encoding": "identity"}  # noqa: RUF012

    def __init__(self, method: str, url: str, limits: Limits, deadline: Deadline) -> None:
        self.method = method
        self.asked = f"{method} {without_secrets(url)}"
        self.limits = limits
        self.redirects = 0
        self.before = sys.exception()
        self.deadline = deadline
        deadline.what = self.asked
        self.timeout = httpx2.Timeout(limits.read_timeout, connect=limits.connect_timeout)
        try:
            self.url = httpx2.URL(url)
        except (httpx2.InvalidURL, ValueError):
            # Not shown: which part of it is a password, only a URL could tell.
            raise ValueError(f"{method}: the URL cannot be read, give {ADDRESS}.") from None
        self.check_scheme(self.url)

    def first(
        self, client: httpx2.Client | httpx2.AsyncClient, trace: object = None
    ) -> httpx2.Request:
        """The request to begin with; `trace` is told of what happens to it."""
        extensions = {} if trace is None else {"trace": trace}
        return hidden(client.build_request(self.method, self.url, extensions=extensions))

    def following(self, response: httpx2.Response) -> httpx2.Request | None:
        """The request to go on with, or `None` if this is the answer.

        Raises:
            Exception: the failure that the answer is.
        """
        self.deadline.check()
        following = response.next_request
        if following is None:
            failure = failure_of_status(response.status_code, response.headers, self.asked)
            if failure is not None:
                raise failure
            return None
        if self.redirects == self.limits.max_redirects:
            raise RedirectError(f"{self.asked}: it was redirected {self.redirects} times and again")
        self.redirects += 1
        self.check_scheme(following.url)
        return hidden(following)

    def check_scheme(self, url: httpx2.URL) -> None:
        if url.scheme in ("http", "https") and url.host:
            return
        is_to = f"{self.asked}: it redirects to" if self.redirects else f"{self.method}: it is"
        what = f"a URL of the scheme {url.scheme!r}" if url.host else "a URL without a host"
        raise ValueError(f"{is_to} {what}, give {ADDRESS}.")

    @contextmanager
    def translated(self) -> Generator[None]:
        """Errors of the HTTP library come out as failures, without what a URL must not tell."""
        try:
            yield
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
            raise self.failure_of(error) from None

    def failure_of(self, error: Exception) -> Exception:
        causes = list(behind(error, self.before))
        for cause in causes:
            if isinstance(cause, ssl.SSLCertVerificationError):
                return ssl.SSLCertVerificationError(
                    f"{self.asked}: its certificate is not trusted: {cause.verify_message}"
                )
        if isinstance(error, httpx2.TimeoutException) and not self.deadline.left:
            return self.deadline.exceeded()
        if isinstance(error, httpx2.ConnectTimeout | httpx2.PoolTimeout):
            return TimeoutError(f"{self.asked}: no connection in {self.limits.connect_timeout:g} s")
        if isinstance(error, httpx2.TimeoutException):
            return TimeoutError(f"{self.asked}: nothing came for {self.limits.read_timeout:g} s")
        if isinstance(error, httpx2.LocalProtocolError | httpx2.UnsupportedProtocol):
            return ValueError(f"{self.asked}: a request that HTTP does not allow")
        for cause in causes:
            for kind in CONNECTION_ERRORS:
                if isinstance(cause, kind):
                    return kind(f"{self.asked}: {told(cause) or WORDS[kind]}")
        return ConnectionError(f"{self.asked}: {words(error, causes)}")


class Body:
    """The body of a download: its length and its progress.

    Raises:
        TooLarge: the server announces more than `Limits.max_size`.
    """

    def __init__(
        self,
        command: Download,
        exchange: Exchange,
        response: httpx2.Response,
        progress: Progress | None,
    ) -> None:
        length = response.headers.get("Content-Length", "")
        self.command = command
        self.exchange = exchange
        self.progress = progress
        self.expected = int(length) if length.isdecimal() else None
        self.received = 0
        self.check_size(self.expected or 0)
        self.tell()

    def checked(self, chunk: bytes) -> bytes:
        """A piece of the body, if it is not one too many.

        Raises:
            TooLarge: the body is larger than `Limits.max_size`.
            TimeoutError: the download is not done by its deadline.
        """
        self.received += len(chunk)
        self.check_size(self.received)
        self.exchange.deadline.check()
        self.tell()
        return chunk

    def check_whole(self) -> None:
        """Raise ConnectionError if something is missing."""
        if self.expected not in (None, self.received):
            raise ConnectionError(
                f"{self.exchange.asked}: {self.received} bytes came of {self.expected}"
            )

    def check_size(self, size: int) -> None:
        if size > self.exchange.limits.max_size:
            raise TooLarge(
                f"{self.exchange.asked}: {size} bytes or more, and the limit is "
                f"{self.exchange.limits.max_size}"
            )

    def tell(self) -> None:
        if self.progress is not None:
            self.progress(self.command, self.received, self.expected)


class ShownURL(httpx2.URL):
    """A URL that shows none of its secrets: the HTTP library logs the URL of each request."""

    def __str__(self) -> str:
        return without_secrets(super().__str__())


def hidden(request: httpx2.Request) -> httpx2.Request:
    request.url = ShownURL(request.url)
    return request


def behind(error: BaseException, before: BaseException | None) -> Iterator[BaseException]:
    """An exception and those that led to it, but not what was being handled `before`."""
    waiting: list[BaseException | None] = [error]
    while waiting:
        cause = waiting.pop()
        if cause is not None and cause is not before:
            yield cause
            grouped: tuple[BaseException, ...] = getattr(cause, "exceptions", ())
            waiting += [cause.__cause__ or cause.__context__, *grouped]


WORDS: dict[type[Exception], str] = {
    ConnectionRefusedError: "Connection refused",
    ConnectionResetError: "Connection reset by peer",
    ConnectionAbortedError: "Connection aborted",
    BrokenPipeError: "Broken pipe",
    httpx2.ConnectError: "cannot connect",
    httpx2.RemoteProtocolError: "the answer broke off, or it is no HTTP",
    httpx2.ProxyError: "the proxy refuses",
}


def words(error: Exception, causes: list[BaseException]) -> str:
    """What went wrong, in words that hold nothing of the URL or of the answer."""
    said = next((text for kind, text in WORDS.items() if isinstance(error, kind)), "broke off")
    for cause in causes:
        if isinstance(cause, OSError) and told(cause):
            return f"{said}: {told(cause)}"
    return said


def told(error: OSError) -> str:
    """The operating system's words for an error; the libraries' own may hold addresses."""
    if isinstance(error, socket.gaierror | ssl.SSLError):
        return error.strerror or ""
    return os.strerror(error.errno) if error.errno else ""
