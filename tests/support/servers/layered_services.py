"""Services that ask each other, in one process, each request in a context of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

import httpx

from ixbackoff import Backoff, DeadlineExceeded
from ixbackoff.clients import marks

EMPTY = copy_context()
NAME = "below"


class InProcess(httpx.AsyncBaseTransport):
    """Sends requests to an application, which sees nothing of the context of its caller."""

    def __init__(self, app: Any) -> None:
        self._inner = httpx.ASGITransport(app)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        context = EMPTY.copy()
        work = self._inner.handle_async_request(request)
        return await asyncio.create_task(work, context=context)


async def answer(send: Any, status: int, headers: Any = ()) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [*headers]})
    await send({"type": "http.response.body"})


class Bottom:
    """A service that always fails, and notes each request: its headers, and the seconds left."""

    def __init__(self, status: int = 503, hangs: bool = False) -> None:
        self.status, self.hangs = status, hangs
        self.headers: list[dict[bytes, bytes]] = []

    async def __call__(self, scope: Any, _: Any, send: Any) -> None:
        self.headers.append(dict(scope["headers"]))
        if self.hangs:
            await asyncio.sleep(20)
        await answer(send, self.status)

    @property
    def said(self) -> list[str]:
        return [found.get(b"ixbackoff-try", b"").decode() for found in self.headers]


def asking(
    app: Any, tries: Backoff[Any] | None, marked: bool = True, **options: Any
) -> Callable[[], Any]:
    """Return a coroutine function that asks a service below, with retries if `tries`."""
    again = options.pop("again", True)
    client = httpx.AsyncClient(transport=InProcess(app), timeout=None, **options)  # noqa: S113
    if marked:
        marks.httpx(client, {NAME}, again=again)

    async def ask() -> None:
        (await client.get(f"http://{NAME}/")).raise_for_status()

    return ask if tries is None else tries(ask)


def layer(ask: Callable[[], Any], status: int = 503) -> Any:
    """Make a service that asks another one, and answers with `status` if that fails."""

    async def app(_: Any, __: Any, send: Any) -> None:
        try:
            await ask()
        except (httpx.HTTPError, DeadlineExceeded):
            await answer(send, status)
        else:
            await answer(send, 200)

    return app
