"""Functions that are tried as users would try them: four times if the failure may pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ixbackoff import N3, backoff, known
from ixbackoff.schedules import Constant

FOUR_TIMES = 4
patiently = backoff(N3, schedule=Constant(0.001))


class Tried(NamedTuple):
    """The end of a function that fails each time.

    Attributes:
        tries: how often it was tried.
        failure: the failure of the last try.
    """

    tries: int
    failure: Exception

    @property
    def why(self) -> str:
        return known.verdict(self.failure).why

    @property
    def retry_after(self) -> float | None:
        return known.retry_after(self.failure)


def tried(function: Callable[[], object]) -> Tried:
    """Try a function that fails each time, and count how often."""
    tries = 0

    @patiently
    def counted() -> object:
        nonlocal tries
        tries += 1
        return function()

    failure = failure_of(counted)
    return Tried(tries, failure)


async def tried_async(function: Callable[[], Any]) -> Tried:
    """Do what `tried` does, with a function that is awaited."""
    tries = 0

    @patiently
    async def counted() -> object:
        nonlocal tries
        tries += 1
        return await function()

    failure = await failure_of_async(counted)
    return Tried(tries, failure)


def failure_of(function: Callable[[], object]) -> Exception:
    """Return how a function fails.

    Raises:
        AssertionError: it did not fail.
    """
    try:
        answer = function()
    except Exception as failure:
        return failure
    raise AssertionError(f"It did not fail, but gave {answer!r}.")


async def failure_of_async(function: Callable[[], Any]) -> Exception:
    """Do what `failure_of` does, with a function that is awaited."""
    try:
        answer = await function()
    except Exception as failure:
        return failure
    raise AssertionError(f"It did not fail, but gave {answer!r}.")
