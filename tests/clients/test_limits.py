"""What limits a decorated function limits the requests of a client, too."""

from __future__ import annotations

import asyncio
import time
from threading import Event, Timer
from typing import Any

import httpx
import pytest

from ixbackoff import N3, Backoff, Constant, DeadlineExceeded, backoff
from ixbackoff.clients import transport

URL = "http://localhost/"


def get(made: Backoff[Any], inner: httpx.MockTransport) -> httpx.Response:
    async def main() -> httpx.Response:
        async with httpx.AsyncClient(transport=transport(made, inner)) as client:
            return await client.get(URL)

    return asyncio.run(main())


def test_a_stop_ends_the_wait_of_an_async_client() -> None:
    stop = Event()

    def answer(_: httpx.Request) -> httpx.Response:
        Timer(0.05, stop.set).start()
        return httpx.Response(503)

    begun = time.monotonic()
    made = backoff(N3, schedule=Constant(3600), stop=stop)
    assert get(made, httpx.MockTransport(answer)).status_code == 503
    assert time.monotonic() - begun < 60


def test_a_service_that_asks_for_too_long_is_not_waited_for() -> None:
    asked = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url)
        return httpx.Response(503, headers={"Retry-After": "86400"})

    assert get(backoff(N3, longest=60), httpx.MockTransport(answer)).status_code == 503
    assert len(asked) == 1


def test_each_request_has_its_own_time() -> None:
    asked = []

    async def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url)
        if len(asked) < 3:
            await asyncio.sleep(60)
        return httpx.Response(200)

    made = backoff(N3, each=0.05, schedule=Constant(0))
    assert get(made, httpx.MockTransport(answer)).status_code == 200
    assert len(asked) == 3


def test_a_request_that_is_too_slow_each_time_fails() -> None:
    async def answer(_: httpx.Request) -> httpx.Response:
        await asyncio.sleep(60)
        raise AssertionError

    made = backoff(N3, each=0.02, schedule=Constant(0))
    with pytest.raises(DeadlineExceeded):
        get(made, httpx.MockTransport(answer))
