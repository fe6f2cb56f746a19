"""Failures of aiohttp, beyond what is common to all clients."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import repeat

import aiohttp
import pytest
from aiohttp.client_reqrep import ConnectionKey

from ixbackoff import N3, backoff, is_transient, known
from ixbackoff.schedules import Constant
from ixbackoff.testing.web import Fault, Hang, Origin, Redirect, Reset, Slow, Status

from ..support.clients.classes import passing_unseen

patiently = backoff(N3, schedule=Constant(0.001))


def test_without_a_request_only_what_was_not_sent_may_pass() -> None:
    assert passing_unseen("aiohttp") == {
        "ClientConnectorError",
        "ClientConnectorDNSError",
        "ClientSSLError",  # a base, which is not raised by itself
        "ClientProxyConnectionError",
        "UnixClientConnectorError",
        "ConnectionTimeoutError",
    }


def failing(
    ask: Callable[[aiohttp.ClientSession, str], Awaitable[object]],
    fault: Fault,
    timeout: aiohttp.ClientTimeout = aiohttp.ClientTimeout(sock_read=10.0),  # noqa: B008
) -> tuple[Exception, int]:
    """Try a request of a server that always fails so; return the failure and the tries."""
    tries = 0

    @patiently
    async def tried(url: str) -> object:
        nonlocal tries
        tries += 1
        async with aiohttp.ClientSession(timeout=timeout) as session:
            return await ask(session, url)

    with Origin({"/a": b"acorn"}, {"/a": repeat(fault)}) as origin:

        async def main() -> object:
            return await tried(f"{origin.url}/a")

        with pytest.raises(Exception) as caught:  # noqa: PT011
            asyncio.run(main())
    return caught.value, tries


SOON = aiohttp.ClientTimeout(sock_read=0.05)


@pytest.mark.parametrize(("method", "asked"), [("GET", 4), ("POST", 1)])
@pytest.mark.parametrize("fault", [Reset(after=2), Slow(5.0, 1)], ids=["reset", "stalled"])
def test_a_body_that_breaks_off_while_it_is_read(method: str, asked: int, fault: Fault) -> None:
    async def read(session: aiohttp.ClientSession, url: str) -> object:
        async with session.request(method, url) as answer:
            return await answer.text()

    failure, tries = failing(read, fault, timeout=SOON)
    assert isinstance(failure, aiohttp.ClientError)
    assert tries == asked


def test_a_body_that_is_streamed_tells_no_method() -> None:
    async def stream(session: aiohttp.ClientSession, url: str) -> object:
        async with session.get(url) as answer:
            return [chunk async for chunk in answer.content.iter_any()]

    failure, tries = failing(stream, Reset(after=2))
    assert isinstance(failure, aiohttp.ClientPayloadError)
    assert tries == 1
    assert "an unknown method" in known.judge(failure).why


def test_a_time_out_of_the_whole_is_a_plain_one() -> None:
    async def post(session: aiohttp.ClientSession, url: str) -> object:
        return await session.post(url)

    failure, tries = failing(post, Hang(), timeout=aiohttp.ClientTimeout(total=0.05))
    assert failure.__class__ is TimeoutError
    assert tries == 4


def test_an_answer_of_another_type_is_asked_for_once() -> None:
    async def read(session: aiohttp.ClientSession, url: str) -> object:
        async with session.get(url) as answer:
            return await answer.json()

    failure, tries = failing(read, Status(200, headers={"Content-Type": "text/html"}))
    assert isinstance(failure, aiohttp.ContentTypeError)
    assert tries == 1


@pytest.mark.parametrize(("status", "asked"), [(503, 4), (403, 1), (200, 1)])
def test_a_web_socket_that_is_refused(status: int, asked: int) -> None:
    async def connect(session: aiohttp.ClientSession, url: str) -> object:
        return await session.ws_connect(url)

    failure, tries = failing(connect, Status(status))
    assert isinstance(failure, aiohttp.WSServerHandshakeError)
    assert tries == asked


@pytest.mark.parametrize("place", ["ftp://nuts.example/a", "http://[::1/a"])
def test_a_redirect_to_a_wrong_url_is_followed_once(place: str) -> None:
    async def get(session: aiohttp.ClientSession, url: str) -> object:
        return await session.get(url)

    failure, tries = failing(get, Redirect(place))
    assert isinstance(failure, aiohttp.RedirectClientError)
    assert tries == 1


def test_made_by_hand_without_a_request() -> None:
    late = aiohttp.ServerTimeoutError("hush")
    assert known.judge(late).why == (
        "aiohttp.ServerTimeoutError after a request of an unknown method, "
        "which may have been carried out"
    )
    assert not is_transient(aiohttp.ServerDisconnectedError())


@pytest.mark.parametrize(("code", "passes"), [(4, False), (1, False), (3, True), (12, True)])
def test_a_look_up_by_aiodns_is_judged_by_its_code(code: int, passes: bool) -> None:
    class DNSError(Exception):  # as that of aiodns, with which aiohttp would look up every name
        pass

    reason = OSError(None, "hush")
    reason.__cause__ = DNSError(code, "hush")
    key = ConnectionKey("nuts.example", 80, False, True, None, None, None)
    assert is_transient(aiohttp.ClientConnectorDNSError(key, reason)) == passes
