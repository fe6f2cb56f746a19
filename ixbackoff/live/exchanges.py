"""Requests to web servers and their responses, without I/O: sync and async callers share them."""

from __future__ import annotations

import os
import socket
import ssl
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

import httpx2

from .._words.standard_commands import Download, without_secrets
from .allowed_addresses import AddressRefused, check_host, check_port
from .errors import RedirectError, failure_of_status, failure_without_content
from .limits import Deadline, Limits

Progress: TypeAlias = Callable[[Download, int, int | None], None]
"""A function that is called during a download: with the command, the bytes received so far, and the
bytes of the whole, `None` if the server did not announce them."""

PARTIAL = (206, 416)  # a range is sent; the resource has no such range

ADDRESS = "http://host/path or https://host/path"
CONNECTION_ERRORS: dict[type[OSError], str] = {
    ConnectionRefusedError: "Connection refused",
    ConnectionResetError: "Connection reset by peer",
    ConnectionAbortedError: "Connection aborted",
    BrokenPipeError: "Broken pipe",
}


class Exchange:
    """A request, the redirects that it follows, and the failures that it may end in."""

    def __init__(self, method: str, url: str, limits: Limits, deadline: Deadline) -> None:
        self.method = method
        self.label = f"{method} {without_secrets(url)}"  # the method and the URL, without secrets
        self.limits = limits
        self.redirects = 0
        self.in_parts = False  # whether the request is for a range
        self.before = sys.exception()  # the exception that the caller is handling
        self.deadline = deadline
        deadline.what = self.label
        try:
            self.url = httpx2.URL(url)
        except (httpx2.InvalidURL, ValueError):
            # The text is not shown: any part of a malformed URL may be the password.
            raise ValueError(f"{method}: the URL cannot be read; give {ADDRESS}.") from None
        self.check(self.url)

    def first(
        self, client: httpx2.Client | httpx2.AsyncClient, headers: Mapping[str, str]
    ) -> httpx2.Request:
        self.redirects = 0
        return hidden(client.build_request(self.method, self.url, headers=headers))

    def following(self, response: httpx2.Response) -> httpx2.Request | None:
        """Return the redirected request, `None` after a success; or raise the failure."""
        self.deadline.check()
        following = response.next_request
        if following is None:
            if self.in_parts and response.status_code in PARTIAL:
                return None  # if the request is for a range, 416 counts as a success
            failure = failure_of_status(response.status_code, response.headers, self.label)
            if failure is None and self.method == "GET":
                failure = failure_without_content(response.status_code, self.label)
            if failure is not None:
                raise failure
            return None
        if self.redirects == self.limits.max_redirects:
            raise RedirectError(f"{self.label}: more than {self.redirects} redirects")
        self.redirects += 1
        self.check(following.url)
        secure = response.url.scheme == "https"
        if secure and following.url.scheme == "http" and not self.limits.insecure_redirects:
            raise RedirectError(
                f"{self.label}: it redirects from https to http; Limits(insecure_redirects=True) "
                "would follow it"
            )
        return hidden(following)

    def check(self, url: httpx2.URL) -> None:
        """Raise ValueError unless `url` has the scheme http or https, and a valid host and port."""
        if url.scheme in ("http", "https") and url.host:
            check_port(url.port, self.label)
            check_host(url.raw_host, self.label)
            return
        where = f"{self.label}: it redirects to" if self.redirects else f"{self.method}: this is"
        what = f"a URL with the scheme {url.scheme!r}" if url.host else "a URL without a host"
        raise ValueError(f"{where} {what}; give {ADDRESS}.")

    @contextmanager
    def translated(self) -> Generator[None]:
        """Raise errors of the HTTP library as failures, which show no secret of a URL."""
        try:
            yield
        except AddressRefused as refused:
            raise PermissionError(f"{self.label}: {refused}") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
            raise self.failure_of(error) from None

    def failure_of(self, error: Exception) -> Exception:
        causes = list(behind(error, self.before))
        for cause in causes:
            if isinstance(cause, ssl.SSLCertVerificationError):
                return ssl.SSLCertVerificationError(
                    f"{self.label}: its certificate is not trusted: {cause.verify_message}"
                )
            if isinstance(cause, socket.gaierror):  # its `errno` shows whether it is transient
                words = f"{self.label}: cannot find its host: {cause.strerror}"
                return socket.gaierror(cause.errno, words)
        if isinstance(error, httpx2.TimeoutException) and not self.deadline.left:
            return self.deadline.exceeded()
        if isinstance(error, httpx2.ConnectTimeout | httpx2.PoolTimeout):
            return TimeoutError(f"{self.label}: no connection in {self.limits.connect_timeout:g} s")
        if isinstance(error, httpx2.TimeoutException):
            return TimeoutError(f"{self.label}: nothing arrived for {self.limits.read_timeout:g} s")
        if isinstance(error, httpx2.LocalProtocolError | httpx2.UnsupportedProtocol):
            return ValueError(f"{self.label}: HTTP does not allow this request")
        for cause in causes:
            for kind, words in CONNECTION_ERRORS.items():
                if isinstance(cause, kind):
                    return kind(f"{self.label}: {system_message(cause) or words}")
        return ConnectionError(f"{self.label}: {described(error, causes)}")


class ShownURL(httpx2.URL):
    """A URL whose `str` hides its secrets: the HTTP library logs each URL."""

    def __str__(self) -> str:
        return without_secrets(super().__str__())

    def join(self, url: httpx2.URL | str) -> httpx2.URL:
        return httpx2.URL(super().__str__()).join(url)


def hidden(request: httpx2.Request) -> httpx2.Request:
    request.url = ShownURL(request.url)
    return request


def behind(error: BaseException, before: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and its causes, but not `before`, which the exchange did not raise."""
    waiting: list[BaseException | None] = [error]
    while waiting:
        cause = waiting.pop()
        if cause is not None and cause is not before:
            yield cause
            grouped: tuple[BaseException, ...] = getattr(cause, "exceptions", ())
            waiting += [cause.__cause__ or cause.__context__, *grouped]


WORDS: dict[type[Exception], str] = {
    httpx2.ConnectError: "cannot connect",
    httpx2.RemoteProtocolError: "the answer broke off, or it is not HTTP",
    httpx2.ProxyError: "the proxy refuses",
}


def described(error: Exception, causes: list[BaseException]) -> str:
    """Describe an error by words that show nothing of the URL or the response."""
    summary = next((text for kind, text in WORDS.items() if isinstance(error, kind)), "broke off")
    for cause in causes:
        if isinstance(cause, OSError) and system_message(cause):
            return f"{summary}: {system_message(cause)}"
    return summary


def system_message(error: OSError) -> str:
    """Return the operating system's message for an error; a library's text may show addresses."""
    if isinstance(error, socket.gaierror | ssl.SSLError):
        return error.strerror or ""
    return os.strerror(error.errno) if error.errno else ""
