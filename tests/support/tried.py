"""Counts how often a real call that always fails is tried."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import pytest

from ixbackoff import N3, backoff, known
from ixbackoff.schedules import Constant

AT_ONCE = Constant(0.001)


class Tried(NamedTuple):
    """How often a call was tried, and its last failure.

    Attributes:
        times: how often it was tried: four times if its failures may pass, or else once.
        failure: the last of its failures.
        why: why it was not tried again.
    """

    times: int
    failure: Exception
    why: str


def tried(call: Callable[[], object]) -> Tried:
    """Try a call with the default `on`, up to four times."""
    times = 0

    @backoff(N3, schedule=AT_ONCE)
    def counted() -> None:
        nonlocal times
        times += 1
        call()

    with pytest.raises(Exception) as caught:  # noqa: PT011
        counted()
    return Tried(times, caught.value, known.verdict(caught.value).why)


def tried_async(call: Callable[[], Awaitable[object]]) -> Tried:
    """Try an asynchronous call with the default `on`, up to four times."""
    times = 0

    @backoff(N3, schedule=AT_ONCE)
    async def counted() -> None:
        nonlocal times
        times += 1
        await call()

    with pytest.raises(Exception) as caught:  # noqa: PT011
        asyncio.run(counted())
    return Tried(times, caught.value, known.verdict(caught.value).why)
