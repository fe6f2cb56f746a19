"""What is part of a request: threads, tasks, background work, streams, web sockets; and WSGI."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import aiohttp
import httpx
import pytest

from ixbackoff import NotReady, time_limit
from ixbackoff._limits.nesting import served
from ixbackoff.middleware import asgi, wsgi

from ..support.servers.asgi_work import DONE, TRIES, app, between, fails
from ..support.servers.services import by_hypercorn, by_uvicorn, by_waitress

MARKED = {"ixbackoff-try": "n=1, more=3, left=5"}
INSIDE = {
    **dict.fromkeys(["quietly_async", "after_n0", "in_anyios_threads", "to_thread", "in_task"], 1),
    **dict.fromkeys(["in_block", "in_sync_block", "streaming"], 1),
    "gathered": 2,
}
OUTSIDE = {
    **dict.fromkeys(["in_executor", "in_new_thread", "begun_apart", "queued", "outliving"], 4),
    **dict.fromkeys(["in_background", "in_threads_background"], 4),
}


@pytest.fixture(scope="module", params=[by_uvicorn, by_hypercorn], ids=["uvicorn", "hypercorn"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    with request.param(asgi(app)) as url:
        yield url


@contextmanager
def done() -> Generator[list[float | None]]:
    """Yield the tries of this block, once its work is done."""
    TRIES.clear()
    DONE.clear()
    yield TRIES
    assert DONE.wait(10.0)


@pytest.mark.parametrize("path", INSIDE)
def test_what_is_part_of_a_request_is_tried_once_and_in_time(url: str, path: str) -> None:
    with httpx.Client() as client:
        with done() as tries:
            assert client.get(f"{url}/{path}", headers=MARKED).content == b"onetwo"
        assert len(tries) == INSIDE[path]
        assert all(left is not None and 4.0 < left <= 5.0 for left in tries)
        with done() as tries:  # on the same connection, and the same threads
            client.get(f"{url}/{path}")
        assert tries == [None] * 4 * INSIDE[path]


@pytest.mark.parametrize("path", OUTSIDE)
def test_what_is_not_part_of_it_has_all_its_tries_and_no_limit(url: str, path: str) -> None:
    with done() as tries:
        httpx.get(f"{url}/{path}", headers=MARKED)
    assert tries == [None] * 4


def test_a_middleware_that_makes_a_task_may_be_inside() -> None:
    with by_uvicorn(asgi(between(app))) as url:
        for path, number in INSIDE.items():
            with done() as tries:
                httpx.get(f"{url}/{path}", headers=MARKED)
            assert len(tries) == number, path


def test_a_web_socket_is_not_one_try(url: str) -> None:
    async def talk() -> str:
        async with aiohttp.ClientSession() as client, client.ws_connect(url, headers=MARKED) as ws:
            await ws.send_str("work")
            return await ws.receive_str()

    with done() as tries:
        assert asyncio.run(talk()) == "done"
    assert tries == [None] * 4


def test_pipelined_requests_are_apart(url: str) -> None:
    """A server may begin the second request while it sends the end of the first answer."""
    host, _, port = url.removeprefix("http://").partition(":")
    get = b"GET /in_task HTTP/1.1\r\nHost: here\r\n"
    mark = b"ixbackoff-try: n=1, left=5\r\n"
    with socket.create_connection((host, int(port))) as connection, done() as tries:
        connection.sendall(get + mark + b"\r\n" + get + b"Connection: close\r\n\r\n")
        while connection.recv(65536):
            pass
    assert len(tries) == 5
    assert tries[1:] == [None] * 4


def test_a_request_that_begins_in_the_last_send_of_another_is_apart() -> None:
    limits: list[float | None] = []

    async def inner(_: Any, __: Any, send: Any) -> None:
        limits.append(time_limit())
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body"})

    serve = asgi(inner)

    async def answered(header: bytes, then: Any) -> None:
        async def send(message: Any) -> None:
            if message["type"] == "http.response.body" and then is not None:
                await asyncio.create_task(then)

        headers = [(b"ixbackoff-try", header)] if header else []
        scope = {"type": "http", "method": "GET", "path": "/", "headers": headers}
        await serve(scope, None, send)

    asyncio.run(answered(b"left=1", answered(b"left=9", answered(b"", None))))
    assert limits[0] is not None
    assert limits[1] is not None
    assert limits[0] <= 1 < 8 < limits[1]
    assert limits[2] is None


def test_an_application_that_fails_ends_its_request() -> None:
    requests: list[Any] = []

    async def inner(*_: Any) -> None:
        requests.append(served())
        raise NotReady

    scope = {"type": "http", "method": "GET", "path": "/", "headers": []}
    with pytest.raises(NotReady):
        asyncio.run(asgi(inner)(scope, None, None))  # type: ignore[arg-type]
    assert requests[0].over


def test_a_wsgi_answer_replaces_what_the_application_says() -> None:
    def app(_: Any, start: Any) -> Any:
        with suppress(NotReady):
            fails()
        start("503 Down", [("X-Should-Retry", "true"), ("a", "b")])
        return []

    started: list[Any] = []
    serve: Any = wsgi(app)
    serve({"REQUEST_METHOD": "GET"}, lambda *given: started.append(given))
    assert started == [("503 Down", [("a", "b"), ("x-should-retry", "false")])]


@pytest.mark.parametrize("fails_in", ["call", "body"])
def test_a_wsgi_application_that_fails_ends_its_request(fails_in: str) -> None:
    requests: list[Any] = []

    def body() -> Generator[bytes]:
        requests.append(served())
        yield b"one"
        raise NotReady

    def app(*_: Any) -> Any:
        requests.append(served())
        if fails_in == "call":
            raise NotReady
        return body()

    serve: Any = wsgi(app)
    with pytest.raises(NotReady):
        list(serve({"REQUEST_METHOD": "GET", "HTTP_IXBACKOFF_TRY": "left=5"}, print))
    assert requests[0].over
    assert served() is None


def test_a_body_that_is_not_read_is_closed() -> None:
    closed: list[bool] = []

    class Parts:
        def __iter__(self) -> Iterator[bytes]:
            return iter([b"one"])

        def close(self) -> None:
            closed.append(served() is None)

    serve: Any = wsgi(lambda *_: Parts())
    serve({"REQUEST_METHOD": "HEAD"}, print).close()
    assert closed == [True]


def work(environ: dict[str, Any], start: Callable[..., object]) -> Any:
    """A WSGI application, which answers by a list or by a generator."""

    def parts() -> Generator[bytes]:
        yield b""
        with suppress(NotReady):
            fails()
        yield b"%d" % len(TRIES)

    TRIES.clear()
    if environ["PATH_INFO"] == "/generator":
        start("200 OK", [])
        return parts()
    with suppress(NotReady):
        fails()
    start("503 Down", [])
    return [b"%d" % len(TRIES)]


@pytest.mark.parametrize("path", ["list", "generator"])
def test_wsgi_one_thread_answers_all_requests(path: str) -> None:
    with by_waitress(wsgi(work)) as url, httpx.Client() as client:
        for _ in range(2):
            answer = client.get(f"{url}/{path}", headers=MARKED)
            assert answer.text == "1"
            assert TRIES[0] is not None
            assert TRIES[0] <= 5.0
            assert "x-should-retry" not in answer.headers
            answer = client.get(f"{url}/{path}")
            assert answer.text == "4"
            assert TRIES == [None] * 4
            assert answer.headers.get("x-should-retry") == (
                None if path == "generator" else "false"
            )


def test_wsgi_leaves_nothing_behind_whatever_the_server_does() -> None:
    """A server may read half of a body, and never close it."""

    def body(*_: Any) -> Generator[bytes]:
        yield b"%r" % (time_limit() is not None)
        yield b""

    environ = {"REQUEST_METHOD": "GET", "HTTP_IXBACKOFF_TRY": "left=5"}
    serve: Any = wsgi(lambda *_: body())
    parts = serve(environ, print)
    assert next(parts) == b"True"
    assert time_limit() is None
    assert b"".join(parts) == b""
    parts.close()
