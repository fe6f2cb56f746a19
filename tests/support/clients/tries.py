"""Functions that are tried as users would try them: four times if the failure may pass."""

from __future__ import annotations

import asyncio
import re
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
        """The reason in the note on the failure, if it was not tried again; it is the verdict's."""
        return why_noted(self.failure)

    @property
    def retry_after(self) -> float | None:
        return known.retry_after(self.failure)


NOTE = re.compile(r"ixbackoff: not tried again: (.*); on=\.\.\. can choose it")


def why_noted(failure: Exception) -> str:
    """Return why a failure was not tried again, as a note on it says; "" if it was."""
    notes = [NOTE.fullmatch(note) for note in getattr(failure, "__notes__", ())]
    noted = [match[1] for match in notes if match]
    assert noted == ([] if known.judge(failure).transient else [known.judge(failure).why])
    return "".join(noted)


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


def run_tried(function: Callable[[], Any]) -> Tried:
    """Do what `tried_async` does, in an event loop of its own."""
    return asyncio.run(tried_async(function))


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
