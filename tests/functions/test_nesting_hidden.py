"""A call that may run inside a retry does not hide that retry from the next one."""

from __future__ import annotations

import asyncio
import contextvars
import signal
import threading
import warnings
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

from ixbackoff import N0, N3, CircuitBreaker, Misuse, NotReady, at, backoff, call
from ixbackoff._functions.default_interpreters import PLAIN
from ixbackoff.observing import WaitBegan, observed, tries_so_far
from ixbackoff.schedules import Constant
from ixbackoff.testing import single_try

SHORT = Constant(0.0001)
outer = backoff(N3, schedule=SHORT)
once = outer.replace(nested="once")
last = backoff(N0)


class Service:
    """A function that always fails, and counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def price(self) -> int:
        self.calls += 1
        raise NotReady

    async def price_async(self) -> int:
        return self.price()


def harmless() -> int:
    return 1


async def harmless_async() -> int:
    return 1


def failing() -> int:
    raise KeyError


def block() -> None:
    for one_try in last:
        with one_try:
            harmless()


async def block_async() -> None:
    async for one_try in last:
        with one_try:
            harmless()


def failed() -> None:
    with suppress(KeyError):
        last.call(failing)


def through(breaker: CircuitBreaker) -> Callable[[], Any]:
    return backoff(N0, breaker=breaker)(harmless)


def open_breaker() -> None:
    breaker = CircuitBreaker(failures=1, within=10, open_for=60)
    for _ in range(2):
        with suppress(Exception):
            backoff(N0, breaker=breaker, on=Exception).call(failing)


def in_a_thread(function: Callable[[], Any]) -> None:
    """Run it in a thread that has this very context, as an executor of a framework may do."""
    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(function,))
    thread.start()
    thread.join()


HIDING: dict[str, Callable[[], Any]] = {
    "a call at N0": last(harmless),
    "one that fails": failed,
    "through a breaker": through(CircuitBreaker(failures=9, within=1, open_for=1)),
    "through an open breaker": open_breaker,
    "with until": backoff(N0, until=bool)(harmless),
    "in time": backoff(N0, within=60)(harmless),
    "a block": block,
    "a program": lambda: at(N0).do(call(harmless)).run(PLAIN),
    "in an empty context": lambda: contextvars.Context().run(last(harmless)),
    "in a thread": lambda: in_a_thread(last(harmless)),
    "another loop": lambda: asyncio.run(last(harmless_async)()),
    "nested once": lambda: once.call(harmless),
}
AFTERWARDS: dict[str, Callable[[Callable[[], Any]], Any]] = {
    "here": lambda function: function(),
    "in an empty context": lambda function: contextvars.Context().run(function),
}


def in_a_block(function: Callable[[], Any]) -> Any:
    for one_try in outer:
        with one_try:
            return function()
    raise AssertionError


AROUND: dict[str, Callable[[Callable[[], Any]], Any]] = {
    "decorated": lambda function: outer(function)(),
    "in time": lambda function: outer.replace(within=60)(function)(),
    "a program": lambda function: outer.program(function).run(PLAIN),
    "a block": in_a_block,
}
CASES = [
    (around, afterwards)
    for around in AROUND
    for afterwards in AFTERWARDS
    if (around, afterwards) != ("a block", "in an empty context")  # a block has no frame of its own
]


@pytest.mark.parametrize(("around", "afterwards"), CASES)
@pytest.mark.parametrize("hiding", HIDING)
def test_a_single_try_inside_does_not_hide_the_run_around_it(
    around: str, hiding: str, afterwards: str
) -> None:
    service = Service()

    def nested() -> Any:
        HIDING[hiding]()
        return AFTERWARDS[afterwards](outer(service.price))

    with pytest.raises(Misuse, match=r"price .* was called inside"):
        AROUND[around](nested)
    assert service.calls == 0
    with pytest.raises(NotReady):
        outer(service.price)()
    assert service.calls == 4, "the run is over"


HIDING_ASYNC: dict[str, Callable[[], Awaitable[Any]]] = {
    "awaited at N0": last(harmless_async),
    "in time": backoff(N0, within=60)(harmless_async),
    "a block": block_async,
    "a task": lambda: asyncio.create_task(last(harmless_async)()),
    "in a thread": lambda: asyncio.to_thread(last(harmless)),
    "a plain function": lambda: asyncio.sleep(0, last(harmless)()),
    "nested once": lambda: once.call(harmless_async),
}


@pytest.mark.parametrize("hiding", HIDING_ASYNC)
@pytest.mark.parametrize("afterwards", ["awaited", "in a task", "sync", "in an empty context"])
def test_one_that_is_awaited_does_not_either(hiding: str, afterwards: str) -> None:
    service = Service()

    @outer
    async def nested() -> Any:
        await HIDING_ASYNC[hiding]()
        if afterwards == "sync":
            return outer(service.price)()
        if afterwards == "in an empty context":
            return contextvars.Context().run(outer(service.price))
        awaited = outer(service.price_async)()
        return await (asyncio.create_task(awaited) if afterwards == "in a task" else awaited)

    with pytest.raises(Misuse, match=r"price.* was called inside"):
        asyncio.run(nested())
    assert service.calls == 0


def test_a_single_try_of_a_test_does_not_either() -> None:
    service = Service()

    def nested() -> Any:
        last.call(harmless)
        return outer.call(service.price)

    with single_try(), pytest.raises(Misuse, match=r"price .* was called inside"):
        outer(nested)()
    assert service.calls == 0


def test_tries_once_still_inside_a_single_try() -> None:
    service = Service()

    def nested() -> Any:
        last.call(harmless)
        return once.call(service.price)

    with pytest.raises(NotReady):
        outer(nested)()
    assert service.calls == 4


def test_a_single_try_counts_the_tries_around_it() -> None:
    seen = []

    @outer
    def nested() -> None:
        last.call(harmless)
        seen.append((tries_so_far(), last.call(tries_so_far)))
        raise NotReady

    with pytest.raises(NotReady):
        nested()
    assert seen == [(0, 0), (1, 1), (2, 2), (3, 3)]


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("event", ["Began", "Issued", "Answered", "WaitBegan"])
def test_a_retry_in_an_observer_does_not_hide_the_run(event: str, around: str) -> None:
    service, tries = Service(), [0]

    def observer(occurred: Any) -> None:
        if type(occurred).__name__ == event:
            outer.call(harmless)

    def nested() -> Any:
        tries[0] += 1
        if tries[0] == 1:
            raise NotReady
        return outer.call(service.price)

    with warnings.catch_warnings(), observed(observer):
        warnings.simplefilter("ignore")
        with pytest.raises(Misuse, match="was called inside"):
            AROUND[around](nested)
    assert service.calls == 0


def test_a_retry_in_a_task_with_the_same_context_does_not_either() -> None:
    service, tries = Service(), [0]

    @outer.replace(schedule=Constant(0.01))
    async def nested() -> Any:
        tries[0] += 1
        if tries[0] == 1:
            raise NotReady
        return await outer(service.price_async)()

    async def meanwhile() -> None:
        await asyncio.sleep(0.002)
        await outer(harmless_async)()

    async def main() -> None:
        shared = contextvars.copy_context()
        start = asyncio.get_running_loop().create_task
        await asyncio.gather(start(nested(), context=shared), start(meanwhile(), context=shared))

    with pytest.raises(Misuse, match=r"price_async .* was called inside"):
        asyncio.run(main())
    assert service.calls == 0


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="Windows has no such timer")
def test_a_retry_in_a_signal_handler_does_not_either() -> None:
    service, tries, handled = Service(), [0], []

    @outer.replace(schedule=Constant(0.05))
    def nested() -> Any:
        tries[0] += 1
        if tries[0] == 1:
            raise NotReady
        return outer.call(service.price)

    def soon(occurred: Any) -> None:
        if isinstance(occurred, WaitBegan):
            signal.setitimer(signal.ITIMER_REAL, 0.01)

    before = signal.signal(signal.SIGALRM, lambda *_: handled.append(outer.call(harmless)))
    try:
        with observed(soon), pytest.raises(Misuse, match=r"price .* was called inside"):
            nested()
    finally:
        signal.signal(signal.SIGALRM, before)
    assert (service.calls, handled) == (0, [1])
