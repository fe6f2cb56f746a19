"""A workflow whose `on=` chooses a failure that no journal restores; as a process, its engine."""

from __future__ import annotations

import sys
from typing import Any

import httpx

from ixbackoff import N1, Constant, at
from ixbackoff.durable import Engine, durable

from .engines import Said, Say


def answered(status: int) -> httpx.HTTPStatusError:
    """The failure of an answer; a journal can record it as an `httpx.HTTPError` only."""
    request = httpx.Request("GET", "http://127.0.0.1/acorn")
    answer = httpx.Response(status, request=request)
    return httpx.HTTPStatusError(str(status), request=request, response=answer)


@durable(name="chosen", schedule=Constant(1.0))
def chosen_run() -> Any:
    return at(N1).retry(Say("busy"), on=httpx.HTTPStatusError)


def busy() -> None:
    print("asked", flush=True)
    raise answered(404)


if __name__ == "__main__":
    with Engine(Said(busy=busy).interpreter, chosen_run, database=sys.argv[1]) as engine:
        engine.start_with_id("one", chosen_run).result()
