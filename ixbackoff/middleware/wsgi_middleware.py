"""A middleware of WSGI applications, such as those of Django and Flask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .._limits.served_requests import Inner, ServedRequest, beginning
from .._words.try_header import said_by

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

__tracebackhide__ = True


def wsgi(
    app: WSGIApplication, *, inner: Inner = "nested", proxies: bool = False, say: bool = True
) -> WSGIApplication:
    """Wrap a WSGI application, so that it heeds what its callers retry, and how long they wait.

    The arguments and errors are those of `asgi`.

    >>> from ixbackoff.middleware import wsgi
    >>> def app(environ, start_response):
    ...     start_response("204 No Content", [])
    ...     return []
    >>> app = wsgi(app, inner="last")
    """
    begin = beginning(inner, proxies, say)

    def serve(environ: dict[str, Any], start_response: Any) -> Any:
        def values(name: str) -> list[str]:
            found = environ.get("HTTP_" + name.upper().replace("-", "_"))
            return [] if found is None else [found]

        shown = f"{environ['REQUEST_METHOD']} {environ.get('PATH_INFO', '')}"
        request = begin(shown, said_by(values, proxies))

        def start(status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
            new = request.said(int(status[:3]))
            old = [pair for pair in headers if pair[0].lower() not in new]
            return start_response(status, [*old, *new.items()], *rest)

        body: Any = None
        try:
            with request.inside():
                body = app(environ, start)
        finally:
            if body is None or isinstance(body, list | tuple):
                request.end()
        return Body(body, request) if not request.over else body

    return serve


class Body:
    """The body of an answer, whose parts are made while it is read, perhaps in another thread."""

    def __init__(self, body: Any, request: ServedRequest) -> None:
        self._body, self._request = body, request
        self._parts: Any = None

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> Any:
        try:
            with self._request.inside():
                self._parts = self._parts or iter(self._body)
                return next(self._parts)
        except BaseException:  # StopIteration, too
            self._request.end()
            raise

    def close(self) -> None:
        self._request.end()
        getattr(self._body, "close", bool)()
