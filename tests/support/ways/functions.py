"""Plain functions that fail as a script says, every way to retry them, and an observer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

import pytest
import trio

from ixbackoff import Backoff, Call, CallAsync, answered_by
from ixbackoff._functions.default_interpreters import PLAIN, PLAIN_ASYNC
from ixbackoff.testing import Virtual, VirtualAsync, always, computed

Outcome: TypeAlias = int | Callable[[], BaseException]
"""The outcome of a call: a value, or a function that makes the exception to raise."""

AnyBackoff: TypeAlias = Backoff[Any]


class Script:
    """A function whose calls have one outcome after the other, and then the first again.

    Attributes:
        raised: the exceptions that it has raised, in order.
        calls: the number of its calls.
    """

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        self.outcomes = outcomes
        self.raised: list[BaseException] = []
        self.calls = 0

    def ask(self) -> int:
        outcome = self.outcomes[self.calls % len(self.outcomes)]
        self.calls += 1
        if isinstance(outcome, int):
            return outcome
        failure = outcome()
        self.raised.append(failure)
        raise failure

    async def ask_async(self) -> int:
        return self.ask()


class Seen(NamedTuple):
    """The tries, the waits and the outcome of a call: all that is visible from outside.

    Attributes:
        which: the place of the last failure among those that the function raised, or a description
            of it if it is not among them.
    """

    calls: int
    waits: list[float]
    value: int | None
    which: int | str | None
    notes: list[str]


@contextmanager
def sleeps() -> Iterator[list[float]]:
    """Collect the seconds of all sleeps in this block; none of them takes any time."""
    waits: list[float] = []

    async def noted(seconds: float) -> None:
        waits.append(seconds)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "sleep", waits.append)
        patch.setattr(asyncio, "sleep", noted)
        patch.setattr(trio, "sleep", noted)
        yield waits


Way: TypeAlias = Callable[[AnyBackoff, Script], int]
AsyncWay: TypeAlias = Callable[[AnyBackoff, Script], Coroutine[Any, Any, int]]


def program(backoff: AnyBackoff, script: Script) -> int:
    """Call by the program; every other way has to agree with this one."""
    return backoff.program(script.ask).run(PLAIN)


def decorated(backoff: AnyBackoff, script: Script) -> int:
    return backoff(script.ask)()


def called(backoff: AnyBackoff, script: Script) -> int:
    return backoff.call(script.ask)


def in_a_block(backoff: AnyBackoff, script: Script) -> int:
    for one_try in backoff:
        with one_try:
            return script.ask()
    raise AssertionError("it neither returned nor raised")


def answered(backoff: AnyBackoff, script: Script) -> int:
    with answered_by(PLAIN):
        return backoff(script.ask)()


async def program_async(backoff: AnyBackoff, script: Script) -> int:
    return await backoff.program_async(script.ask_async).run_async(PLAIN_ASYNC)


async def decorated_async(backoff: AnyBackoff, script: Script) -> int:
    return await backoff(script.ask_async)()


async def called_async(backoff: AnyBackoff, script: Script) -> int:
    return await backoff.call(script.ask_async)


async def in_an_async_block(backoff: AnyBackoff, script: Script) -> int:
    async for one_try in backoff:
        with one_try:
            return await script.ask_async()
    raise AssertionError("it neither returned nor raised")


async def answered_async(backoff: AnyBackoff, script: Script) -> int:
    with answered_by(PLAIN_ASYNC):
        return await backoff(script.ask_async)()


def in_asyncio(way: AsyncWay) -> Way:
    return lambda backoff, script: asyncio.run(way(backoff, script))


def in_trio(way: AsyncWay) -> Way:
    return lambda backoff, script: trio.run(way, backoff, script)


SYNC: tuple[Way, ...] = (decorated, called, in_a_block, answered)
ASYNC: tuple[AsyncWay, ...] = (
    decorated_async,
    called_async,
    in_an_async_block,
    answered_async,
    program_async,
)
WAYS: dict[str, Way] = {
    **{way.__name__: way for way in SYNC},
    **{f"{way.__name__} in asyncio": in_asyncio(way) for way in ASYNC},
    **{f"{way.__name__} in trio": in_trio(way) for way in ASYNC},
}
"""All ways to call but `program`."""


def seen(way: Way, backoff: AnyBackoff, outcomes: Sequence[Outcome]) -> Seen:
    script = Script(outcomes)
    value: int | None = None
    which: int | str | None = None
    notes: list[str] = []
    with sleeps() as waits:
        try:
            value = way(backoff, script)
        except Exception as failure:
            places = [place for place, one in enumerate(script.raised) if one is failure]
            which = places[-1] if places else repr(failure)
            notes = list(getattr(failure, "__notes__", []))
    return Seen(script.calls, waits, value, which, notes)


def call_it(command: Call[Any]) -> Any:
    return command()


def calling() -> Virtual[Call[Any]]:
    """Make a world that calls functions for real and waits in virtual time."""
    return Virtual(Call[Any].handled_by(always(computed(call_it))))


def calling_async() -> VirtualAsync[CallAsync[Any]]:
    """As `calling`, for coroutine functions."""
    return VirtualAsync(CallAsync[Any].awaited_by(lambda command: command()))
