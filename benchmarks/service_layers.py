"""One of three services of `benchmarks.layers`, in a process of its own.

`python -m benchmarks.service_layers NAME PORT BELOW` serves the service NAME at a port of loopback;
BELOW is the URL of the service below it, empty for the database.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import httpx
import uvicorn

from ixbackoff import N3, DeadlineExceeded, Exponential, RetryBudget, backoff
from ixbackoff.clients import marks
from ixbackoff.middleware import asgi

USER, GATEWAY, SERVICE, DATABASE = "user", "gateway", "service", "database"


class Way(NamedTuple):
    """What the layers know of each other.

    Attributes:
        inner: the argument of the middleware; `None` for no middleware.
        marked: whether clients mark their requests.
        again: whether a mark says that the request may be repeated.
        budget: the retry budget of each layer.
        retries: the layers that retry.
        base: the seconds of the first wait.
    """

    inner: Any = None
    marked: bool = False
    again: bool = False
    budget: Callable[[], RetryBudget] | None = None
    retries: tuple[str, ...] = (USER, GATEWAY, SERVICE)
    base: float = 0.01


TIMED = Way("nested", marked=True)
WAYS = {
    "none": Way(),
    "answer": Way("nested"),
    "answer, time": TIMED,
    "mark, once": Way("once", marked=True, again=True),
    "mark, last": Way("last", marked=True, again=True),
    "finagle": Way(budget=RetryBudget.finagle),
    "grpc": Way(budget=RetryBudget.grpc),
    "top only": Way(retries=(USER,)),
    "bottom only": Way(retries=(SERVICE,)),
    "stretched": TIMED._replace(base=0.3),
}


class Settings:
    """The state of a service: `GET /-/set?p=0.5` changes it, `GET /-/asked` returns `asked`.

    Attributes:
        p: the probability that a request fails.
        hang: the seconds before each answer.
        fan: the number of requests to the service below, for each request.
        patience: the timeout of a request.
        status: the answer if the service below fails.
        post: whether the user sends a `POST`.
    """

    p = hang = 0.0
    fan, patience, status, post = 1, 30.0, 503, 0

    def __init__(self) -> None:
        self.asked: list[float] = []
        self.chance = random.Random(1)  # noqa: S311

    def change(self, query: str) -> None:
        given = dict(parse_qsl(query))
        self.chance.seed(given.pop("seed", "1"))
        self.asked = []
        for name, text in given.items():
            setattr(self, name, type(getattr(Settings, name))(float(text)))

    async def fails(self) -> bool:
        self.asked.append(time.monotonic())
        failed = self.chance.random() < self.p
        if self.hang:
            await asyncio.sleep(self.hang)
        return failed


def asking(name: str, way: str, below: str, settings: Settings) -> Callable[[], Awaitable[None]]:
    """Return a function that asks the service below, and retries if this layer does."""
    how = WAYS[way]
    limits = httpx.Limits(max_connections=None)
    client = httpx.AsyncClient(limits=limits)
    if how.marked:
        marks.httpx(client, {"127.0.0.1"}, again=how.again)

    async def ask() -> None:
        method = "POST" if settings.post and name == USER else "GET"
        url, patience = f"{below}/{way}", settings.patience
        (await client.request(method, url, timeout=patience)).raise_for_status()

    if name not in how.retries:
        return ask
    budget = None if how.budget is None else how.budget()
    return backoff(N3, schedule=Exponential(how.base), budget=budget)(ask)


async def answer(send: Any, status: int, body: bytes = b"") -> None:
    length = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": status, "headers": [length]})
    await send({"type": "http.response.body", "body": body})


def layer(name: str, way: str, below: str, settings: Settings) -> Any:
    ask = asking(name, way, below, settings) if below else None

    async def app(_: Any, __: Any, send: Any) -> None:
        if await settings.fails():
            await answer(send, 503)
            return
        try:
            for _ in range(0 if ask is None else settings.fan):
                await ask()  # type: ignore[misc]
        except (httpx.HTTPError, DeadlineExceeded):
            await answer(send, settings.status)
        else:
            await answer(send, 200)

    inner = WAYS[way].inner
    return app if inner is None or ask is None else asgi(app, inner=inner)


def service(name: str, below: str) -> Any:
    settings = Settings()
    layers = {way: layer(name, way, below, settings) for way in WAYS}

    async def app(scope: Any, receive: Any, send: Any) -> None:
        way = scope["path"].strip("/")
        if way in layers:
            await layers[way](scope, receive, send)
            return
        if way == "-/set":
            settings.change(scope["query_string"].decode())
        await answer(send, 200, json.dumps(settings.asked).encode())

    return app


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    name, port, below = sys.argv[1:]
    app = service(name, below)
    uvicorn.run(app, port=int(port), log_level="critical", access_log=False, lifespan="off")
