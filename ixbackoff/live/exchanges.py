"""A request to a web server and its answer, without any I/O: sync and async callers share it."""

from __future__ import annotations

import os
import socket
import ssl
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

import httpx2

from .._words.vocabulary import Download, without_secrets
from .addresses import Refused
from .answers import check_host, check_port, failure_of_status, failure_without_content
from .limits import Limits
from .refusals import RedirectError
from .times import Deadline

Progress: TypeAlias = Callable[[Download, int, int | None], None]
"""A function that is called during a download: with the command, the bytes received so far, and the
bytes expected in all, `None` if the server did not say."""

IN_PARTS = (206, 416)
"""The statuses of answers with a part, or without the one that was asked for."""

ADDRESS = "http://host/path or https://host/path"
CONNECTION_ERRORS = (
    ConnectionRefusedError,
    ConnectionResetError,
    ConnectionAbortedError,
    BrokenPipeError,
)


class Exchange:
    """A request, with the redirects that it follows and the failures that it may end in.

    Attributes:
        in_parts: true if a part is asked for.

    Raises:
        ValueError: `url` does not begin with `http://` or `https://`.
    """

    def __init__(self, method: str, url: str, limits: Limits, deadline: Deadline) -> None:
        self.method = method
        self.asked = f"{method} {without_secrets(url)}"
        self.limits = limits
        self.redirects = 0
        self.in_parts = False
        self.before = sys.exception()
        self.deadline = deadline
        deadline.what = self.asked
        try:
            self.url = httpx2.URL(url)
        except (httpx2.InvalidURL, ValueError):
            # The text is not shown: without a URL it is unknown which part of it is a password.
            raise ValueError(f"{method}: the URL cannot be read; give {ADDRESS}.") from None
        self.check(self.url)

    def first(
        self, client: httpx2.Client | httpx2.AsyncClient, headers: Mapping[str, str]
    ) -> httpx2.Request:
        """Return the first request, with these headers as well."""
        self.redirects = 0
        return hidden(client.build_request(self.method, self.url, headers=headers))

    def following(self, response: httpx2.Response) -> httpx2.Request | None:
        """Return the next request if the answer is a redirect, and `None` if it is a success.

        Raises:
            Exception: the answer is a failure.
        """
        self.deadline.check()
        following = response.next_request
        if following is None:
            if self.in_parts and response.status_code in IN_PARTS:
                return None
            failure = failure_of_status(response.status_code, response.headers, self.asked)
            if failure is None and self.method == "GET":
                failure = failure_without_content(response.status_code, self.asked)
            if failure is not None:
                raise failure
            return None
        if self.redirects == self.limits.max_redirects:
            raise RedirectError(f"{self.asked}: more than {self.redirects} redirects")
        self.redirects += 1
        self.check(following.url)
        secure = response.url.scheme == "https"
        if secure and following.url.scheme == "http" and not self.limits.insecure_redirects:
            raise RedirectError(
                f"{self.asked}: it redirects from https to http; Limits(insecure_redirects=True) "
                "would follow it"
            )
        return hidden(following)

    def check(self, url: httpx2.URL) -> None:
        """Check that a URL is one of the web.

        Raises:
            ValueError: it is not.
        """
        if url.scheme in ("http", "https") and url.host:
            check_port(url.port, self.asked)
            check_host(url.raw_host, self.asked)
            return
        where = f"{self.asked}: it redirects to" if self.redirects else f"{self.method}: this is"
        what = f"a URL with the scheme {url.scheme!r}" if url.host else "a URL without a host"
        raise ValueError(f"{where} {what}; give {ADDRESS}.")

    @contextmanager
    def translated(self) -> Generator[None]:
        """Raise errors of the HTTP library as failures that show no secret of a URL."""
        try:
            yield
        except Refused as refused:
            raise PermissionError(f"{self.asked}: {refused}") from None
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
            return ValueError(f"{self.asked}: HTTP does not allow this request")
        for cause in causes:
            for kind in CONNECTION_ERRORS:
                if isinstance(cause, kind):
                    return kind(f"{self.asked}: {told(cause) or WORDS[kind]}")
        return ConnectionError(f"{self.asked}: {words(error, causes)}")


class ShownURL(httpx2.URL):
    """A URL that hides its secrets when it is shown: the HTTP library logs each URL."""

    def __str__(self) -> str:
        return without_secrets(super().__str__())

    def join(self, url: httpx2.URL | str) -> httpx2.URL:
        return httpx2.URL(super().__str__()).join(url)


def hidden(request: httpx2.Request) -> httpx2.Request:
    request.url = ShownURL(request.url)
    return request


def behind(error: BaseException, before: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and its causes, except those that were being handled `before`."""
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
    httpx2.RemoteProtocolError: "the answer broke off, or it is not HTTP",
    httpx2.ProxyError: "the proxy refuses",
}


def words(error: Exception, causes: list[BaseException]) -> str:
    """Describe what went wrong in words that show nothing of the URL or the answer."""
    said = next((text for kind, text in WORDS.items() if isinstance(error, kind)), "broke off")
    for cause in causes:
        if isinstance(cause, OSError) and told(cause):
            return f"{said}: {told(cause)}"
    return said


def told(error: OSError) -> str:
    """Return the operating system's words for an error; those of libraries may show addresses."""
    if isinstance(error, socket.gaierror | ssl.SSLError):
        return error.strerror or ""
    return os.strerror(error.errno) if error.errno else ""
