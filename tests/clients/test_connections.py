"""Connections of clients with a backoff inside, on a server that keeps them."""

from __future__ import annotations

import asyncio
import gc
import signal
import threading
import time
import weakref
from typing import Any

import aiohttp
import httpx
import httpx2
import pytest
import requests
import trio
from requests.adapters import HTTPAdapter
from requests.auth import HTTPDigestAuth

from ixbackoff import N2, N3, Backoff, backoff
from ixbackoff.clients import adapter, middleware, transport
from ixbackoff.schedules import Constant

from ..support.clients.retrying import Asked, each_library
from ..support.servers.busy import Busy, Said, busy

patiently = backoff(N3, schedule=Constant(0.001))
waiting = backoff(N3, schedule=Constant(30))
both = pytest.mark.parametrize("library", [httpx, httpx2], ids=lambda library: library.__name__)
DOWN = Said(503, b"down")
LONG = Said(503, bytes(300_000))
CHUNKED = Said(503, b"down", chunked=True)


def closed(server: Busy) -> bool:
    """Return whether the server sees the end of all connections, soon."""
    end = time.monotonic() + 5
    while server.open and time.monotonic() < end:
        time.sleep(0.005)
    return not server.open


@each_library
def test_a_short_answer_leaves_its_connection_to_the_next_try(library: Any) -> None:
    with busy(DOWN, Said(429, b""), DOWN) as server:
        assert library.ask(patiently, Asked("GET", f"{server.url}/a")).status == 200
        assert (len(server.asked), server.opened) == (4, 1)
        assert closed(server)


@each_library
@pytest.mark.parametrize("said", [LONG, CHUNKED], ids=["long", "chunked"])
def test_an_answer_of_any_length_is_closed_before_the_next_try(library: Any, said: Said) -> None:
    with busy(said, said, said) as server:
        assert library.ask(patiently, Asked("GET", f"{server.url}/a")).status == 200
        assert len(server.asked) == 4
        assert closed(server)


@each_library
@pytest.mark.parametrize("said", [DOWN, LONG], ids=["short", "long"])
def test_ctrl_c_in_a_wait(library: Any, said: Said) -> None:
    def interrupt() -> None:
        server.arrived.wait(5)
        time.sleep(0.1)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    with busy(*[said] * 4) as server:
        striking = threading.Thread(target=interrupt)
        striking.start()
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            library.ask(waiting, Asked("GET", f"{server.url}/a"))
        striking.join()
        assert time.monotonic() - began < 10
        assert len(server.asked) == 1
        assert closed(server)


@pytest.mark.parametrize("library", [httpx, httpx2, aiohttp], ids=lambda it: it.__name__)
@pytest.mark.parametrize("said", [DOWN, LONG], ids=["short", "long"])
def test_a_cancelled_wait_gives_its_connection_back(library: Any, said: Said) -> None:
    def client(used: Backoff[Any]) -> Any:
        if library is aiohttp:
            connector = aiohttp.TCPConnector(limit=1)
            return aiohttp.ClientSession(connector=connector, middlewares=[middleware(used)])
        inner = library.AsyncHTTPTransport(limits=library.Limits(max_connections=1))
        return library.AsyncClient(transport=transport(used, inner))

    async def asked() -> None:
        async with client(waiting) as one:
            task = asyncio.ensure_future(one.get(f"{server.url}/a"))
            await asyncio.to_thread(server.arrived.wait, 5)
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            answer = await asyncio.wait_for(one.get(f"{server.url}/b"), 5)
            assert getattr(answer, "status_code", None) or answer.status == 200
            getattr(answer, "release", bool)()

    with busy(said) as server:
        asyncio.run(asked())
        assert [path for _, path, _ in server.asked] == ["/a", "/b"]
        assert closed(server)


@both
@pytest.mark.parametrize("said", [DOWN, LONG], ids=["short", "long"])
def test_a_cancelled_wait_of_trio_does_so_too(library: Any, said: Said) -> None:
    async def asked() -> int:
        inner = library.AsyncHTTPTransport(limits=library.Limits(max_connections=1))
        async with library.AsyncClient(transport=transport(waiting, inner)) as client:
            with trio.move_on_after(0.3) as scope:
                await client.get(f"{server.url}/a")
            assert scope.cancelled_caught
            with trio.fail_after(5):
                answer = await client.get(f"{server.url}/b")
            return int(answer.status_code)

    with busy(said) as server:
        assert trio.run(asked) == 200
        assert [path for _, path, _ in server.asked] == ["/a", "/b"]


def test_the_time_out_of_an_aiohttp_session_ends_the_waits_too() -> None:
    async def ask() -> None:
        whole = aiohttp.ClientTimeout(total=0.3)
        async with aiohttp.ClientSession(timeout=whole, middlewares=[middleware(waiting)]) as one:
            await one.get(f"{server.url}/a")

    with busy(*[DOWN] * 4) as server:
        with pytest.raises(TimeoutError):
            asyncio.run(ask())
        assert len(server.asked) == 1
        assert closed(server)


@both
def test_dropped_answers_are_not_kept(library: Any) -> None:
    """Neither they nor their failures wait for the garbage collector."""
    kept: list[weakref.ref[Any]] = []

    class Noting(library.HTTPTransport):  # type: ignore[misc]
        def handle_request(self, request: Any) -> Any:
            answer = super().handle_request(request)
            kept.append(weakref.ref(answer))
            return answer

    gc.collect()
    gc.disable()
    try:
        with (
            busy(*[DOWN] * 4) as server,
            library.Client(transport=transport(patiently, Noting())) as client,
        ):
            assert client.get(f"{server.url}/a").status_code == 503
            assert [each() for each in kept[:3]] == [None] * 3
    finally:
        gc.enable()


shortly = backoff(N3, schedule=Constant(0.3))


@pytest.mark.parametrize("library", [httpx, httpx2, requests], ids=lambda it: it.__name__)
def test_a_client_that_is_closed_in_a_wait_sends_nothing_more(library: Any) -> None:
    failures: list[Exception] = []

    def ask() -> None:
        try:
            client.get(f"{server.url}/a")
        except Exception as failure:
            failures.append(failure)

    if library is requests:
        client: Any = requests.Session()
        client.mount("http://", adapter(shortly))
    else:
        client = library.Client(transport=transport(shortly))
    with busy(DOWN) as server:
        asking = threading.Thread(target=ask)
        asking.start()
        server.arrived.wait(5)
        time.sleep(0.1)
        client.close()
        asking.join(5)
        assert [type(failure) for failure in failures] == [RuntimeError]
        assert "was closed in a wait" in str(failures[0])
        assert len(server.asked) == 1
        assert closed(server)


@both
def test_a_client_of_a_loop_that_is_closed_in_a_wait(library: Any) -> None:
    async def ask() -> None:
        client = library.AsyncClient(transport=transport(shortly))
        asking = asyncio.ensure_future(client.get(f"{server.url}/a"))
        await asyncio.to_thread(server.arrived.wait, 5)
        await asyncio.sleep(0.1)
        await client.aclose()
        with pytest.raises(RuntimeError, match="was closed in a wait"):
            await asking

    with busy(DOWN) as server:
        asyncio.run(ask())
        assert len(server.asked) == 1
        assert closed(server)


DIGEST = Said(
    401, b"", headers=(("WWW-Authenticate", 'Digest realm="oak", nonce="5", qop="auth"'),)
)


@both
def test_each_request_of_a_login_is_retried(library: Any) -> None:
    with (
        busy(DOWN, DIGEST, DOWN) as server,
        library.Client(transport=transport(patiently)) as client,
    ):
        login = library.DigestAuth("me", "hush")
        assert client.get(f"{server.url}/a", auth=login).status_code == 200
    assert [bool(login) for _, _, login in server.asked] == [False, False, True, True]


def test_each_request_of_a_login_of_requests_is_retried() -> None:
    with busy(DOWN, DIGEST, DOWN) as server, requests.Session() as session:
        session.mount("http://", adapter(patiently))
        login = HTTPDigestAuth("me", "hush")
        assert session.get(f"{server.url}/a", auth=login).status_code == 200
    assert [bool(login) for _, _, login in server.asked] == [False, False, True, True]


@pytest.mark.parametrize("outside", [True, False])
def test_each_request_of_a_login_of_aiohttp_is_retried(outside: bool) -> None:
    async def ask() -> int:
        both = [aiohttp.DigestAuthMiddleware("me", "hush"), middleware(patiently)]
        used: Any = both if outside else both[::-1]
        async with (
            aiohttp.ClientSession(middlewares=used) as session,
            session.get(f"{server.url}/a") as answer,
        ):
            return answer.status

    with busy(DOWN, DIGEST, DOWN) as server:
        assert asyncio.run(ask()) == 200
    assert [bool(login) for _, _, login in server.asked] == [False, False, True, True]


@both
def test_hooks_see_the_request_once_and_the_last_answer(library: Any) -> None:
    seen: list[object] = []
    hooks = {
        "request": [lambda request: seen.append(request.method)],
        "response": [lambda answer: seen.append(answer.status_code)],
    }
    with (
        busy(DOWN, DOWN) as server,
        library.Client(transport=transport(patiently), event_hooks=hooks) as client,
    ):
        client.get(f"{server.url}/a")
    assert seen == ["GET", 200]


def test_cookies_of_the_last_answer_are_kept() -> None:
    cookie = (("Set-Cookie", "nut=2"),)
    with busy(DOWN, Said(404, b"where?", headers=cookie)) as server, requests.Session() as session:
        session.mount("http://", adapter(patiently))
        for stream in False, True:
            assert session.get(f"{server.url}/a", stream=stream).cookies.get("nut") in ("2", None)
        assert session.cookies.get("nut") == "2"


@pytest.mark.parametrize("said", [DOWN, LONG, CHUNKED], ids=["short", "long", "chunked"])
def test_one_connection_is_enough_for_aiohttp(said: Said) -> None:
    async def ask() -> int:
        one = aiohttp.TCPConnector(limit=1)
        async with aiohttp.ClientSession(connector=one, middlewares=[middleware(patiently)]) as it:
            answer = await asyncio.wait_for(it.get(f"{server.url}/a"), 5)
            await answer.read()
            return answer.status

    with busy(*[said] * 3) as server:
        assert asyncio.run(ask()) == 200
        assert len(server.asked) == 4


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("said", [DOWN, LONG, CHUNKED], ids=["short", "long", "chunked"])
def test_one_connection_is_enough_for_requests(said: Said, stream: bool) -> None:
    inner = HTTPAdapter(pool_connections=1, pool_maxsize=1, pool_block=True)
    with busy(*[said] * 3) as server, requests.Session() as session:
        session.mount("http://", adapter(patiently, inner))

        def ask() -> None:
            session.get(f"{server.url}/a", stream=stream).close()
            session.get(f"{server.url}/a")

        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        asking.join(5)
        assert (asking.is_alive(), len(server.asked)) == (False, 5)


@both
@pytest.mark.parametrize("said", [DOWN, LONG, CHUNKED], ids=["short", "long", "chunked"])
def test_one_connection_is_enough_for_httpx(library: Any, said: Said) -> None:
    async def ask() -> int:
        one = library.AsyncHTTPTransport(limits=library.Limits(max_connections=1))
        async with library.AsyncClient(transport=transport(patiently, one), timeout=1) as client:
            return int((await client.get(f"{server.url}/a")).status_code)

    with busy(*[said] * 3) as server:
        assert asyncio.run(ask()) == 200
        assert len(server.asked) == 4


def test_a_full_pool_of_requests_has_room_in_a_wait() -> None:
    """Two threads, one connection: each waits without it."""
    inner = HTTPAdapter(pool_connections=1, pool_maxsize=1, pool_block=True)
    both_wait = backoff(N2, schedule=Constant(0.3))
    with busy(DOWN, DOWN) as server, requests.Session() as session:
        session.mount("http://", adapter(both_wait, inner))
        began = time.monotonic()
        threads = [
            threading.Thread(target=session.get, args=(f"{server.url}/{n}",)) for n in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert time.monotonic() - began < 0.55
        assert (len(server.asked), server.opened) == (4, 1)
