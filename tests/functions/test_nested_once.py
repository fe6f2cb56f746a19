"""A retry inside a retry: rejected by name, never swallowed, or tried once where that is wanted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

from ixbackoff import N0, N2, N3, CircuitBreaker, Delay, Misuse, NotReady, at, backoff, call, unroll
from ixbackoff._functions.default_interpreters import PLAIN
from ixbackoff.schedules import Constant

SHORT = Constant(0.0001)
twice = backoff(N2, schedule=SHORT)
once = backoff(N3, schedule=SHORT, nested="once")


class Service:
    """A function that always fails, and counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def price(self) -> int:
        self.calls += 1
        raise NotReady(f"call {self.calls}")

    async def price_async(self) -> int:
        return self.price()


def test_both_are_named() -> None:
    @backoff(N3)
    def price() -> int:
        raise NotReady

    @backoff(N2)
    def book() -> int:
        return price()

    with pytest.raises(Misuse) as caught:
        book()
    assert str(caught.value) == (
        "price (backoff N3) was called inside book (backoff N2), and their retries would "
        "multiply: let only the outer one try again, or pass "
        'nested="once" to the backoff of either.'
    )


@pytest.mark.parametrize("limits", [{"within": 60}, {"within": 60, "until": bool}], ids=str)
def test_both_are_named_with_a_deadline_too(limits: dict[str, Any]) -> None:
    def price() -> int:
        raise NotReady

    inner = backoff(N3, **limits)(price)

    @backoff(N2, **limits)
    def book() -> int:
        return inner()

    with pytest.raises(
        Misuse, match=r"price \(backoff N3\) was called inside .*book \(backoff N2\)"
    ):
        book()


def test_a_block_around_is_named() -> None:
    inner = backoff(N3)(abs)
    with pytest.raises(Misuse, match=r"abs \(backoff N3\) was called inside in_a_block \("):
        in_a_block(lambda: inner(-1))


def swallowing(inner: Callable[[], Any]) -> int:
    """Call it, and take any failure of it for one that does not matter."""
    try:
        inner()
    except Exception:
        return 0
    return 1


def in_a_block(function: Callable[[], Any]) -> Any:
    for one_try in twice:
        with one_try:
            return function()
    raise AssertionError("it neither returned nor raised")


OUTER: dict[str, Callable[[Callable[[], Any]], Any]] = {
    "decorated": lambda function: twice(function)(),
    "in time": lambda function: twice.replace(within=60)(function)(),
    "a program": lambda function: at(N2).retry(call(function)).run(PLAIN),
    "a block": in_a_block,
}


@pytest.mark.parametrize("outer", OUTER.values(), ids=OUTER)
def test_the_error_of_a_nested_call_cannot_be_swallowed(
    outer: Callable[[Callable[[], Any]], Any],
) -> None:
    service = Service()
    inner = backoff(N3)(service.price)
    with pytest.raises(Misuse, match=r"price .* was called inside"):
        outer(lambda: swallowing(inner))
    assert service.calls == 0


@pytest.mark.parametrize("outer", OUTER.values(), ids=OUTER)
def test_nor_made_into_a_failure_that_is_tried_again(
    outer: Callable[[Callable[[], Any]], Any],
) -> None:
    service, calls = Service(), [0]
    inner = backoff(N3)(service.price)

    def fails() -> int:
        calls[0] += 1
        try:
            return int(inner())
        except Exception as error:
            raise NotReady("the price is not known") from error

    with pytest.raises(Misuse, match=r"price .* was called inside") as caught:
        outer(fails)
    assert calls == [1]
    assert isinstance(caught.value.__cause__, NotReady)


def test_an_async_one_neither() -> None:
    service = Service()

    @twice
    async def book() -> int:
        try:
            return await backoff(N3)(service.price_async)()
        except Exception:
            return 0

    with pytest.raises(Misuse, match=r"price_async .* was called inside .*book"):
        asyncio.run(book())


def test_a_run_after_one_that_was_rejected_is_well() -> None:
    service = Service()
    inner = backoff(N3)(service.price)
    with pytest.raises(Misuse):
        twice(lambda: swallowing(inner))()
    assert twice(lambda: 7)() == 7


def test_what_runs_inside_afterwards_does_not_hide_the_error() -> None:
    service = Service()
    last = at(N0).retry(call(service.price))

    @twice
    def book() -> int:
        for inside in (twice(service.price), once(service.price), lambda: last.run(PLAIN)):
            with suppress(Exception):
                inside()
        return 7

    with pytest.raises(Misuse, match=r"price \(backoff N2\) was called inside .*book"):
        book()


def block(function: Callable[[], Any]) -> None:
    for one_try in backoff(N0):
        with one_try:
            function()


def test_a_run_that_was_rejected_says_nothing_of_later_ones() -> None:
    service = Service()
    rejected = twice(twice(service.price))
    with pytest.raises(Misuse):
        rejected()
    with pytest.raises(NotReady):
        at(N0).retry(call(service.price)).run(PLAIN)
    with pytest.raises(Misuse):
        rejected()
    with pytest.raises(NotReady):
        block(service.price)
    with pytest.raises(Misuse):
        rejected()
    stream = unroll(at(N3).retry(call(service.price)))
    next(stream)
    assert isinstance(stream.throw(NotReady()), Delay)


@pytest.mark.parametrize(
    ("outer", "inner"), [(twice, once), (once, twice), (once, once)], ids=["inner", "outer", "both"]
)
def test_the_inner_one_is_tried_once_if_either_says_so(outer: Any, inner: Any) -> None:
    service = Service()
    inside = inner(service.price)
    book = outer(lambda: inside())
    with pytest.raises(NotReady) as caught:
        book()
    tries = 1 + outer._top
    assert service.calls == tries
    assert caught.value.__notes__[0].startswith(
        "Service.price was tried once, because it was called"
    )
    assert caught.value.__notes__[-1].startswith(f"ixbackoff: tries: {tries}, waits: ")


def test_with_a_deadline_it_is_tried_once_too() -> None:
    service = Service()
    inside = once.replace(within=60)(service.price)
    with pytest.raises(NotReady):
        twice.replace(within=60)(lambda: inside())()
    assert service.calls == 3


def test_a_block_inside_is_tried_once_too() -> None:
    service = Service()

    def blocks() -> None:
        for one_try in once:
            with one_try:
                service.price()

    with pytest.raises(NotReady) as caught:
        twice(blocks)()
    assert service.calls == 3
    assert caught.value.__notes__[0].startswith("blocks was tried once, because it was")


@pytest.mark.parametrize("inner", [once, once.replace(within=60)], ids=["plain", "in time"])
def test_awaited_it_is_tried_once_too(inner: Any) -> None:
    service = Service()
    inside: Callable[[], Awaitable[int]] = inner(service.price_async)

    @twice
    async def book() -> int:
        return await inside()

    with pytest.raises(NotReady):
        asyncio.run(book())
    assert service.calls == 3


def test_alone_it_is_tried_as_often_as_it_says() -> None:
    service = Service()
    with pytest.raises(NotReady):
        once(service.price)()
    assert service.calls == 4


def test_a_program_inside_is_rejected_as_ever() -> None:
    inside = at(N3).retry(call(Service().price))
    with pytest.raises(Misuse, match="try again, and start the inner program at N0"):
        once(lambda: inside.run(PLAIN))()


@pytest.mark.parametrize("way", ["function", "coroutine function", "block"])
def test_one_breaker_around_both_closes_when_the_service_is_back(way: str) -> None:
    breaker = CircuitBreaker(failures=1, within=10, open_for=0.001)
    through = backoff(N0, breaker=breaker)
    guarded = backoff(N2, schedule=Constant(0.002), breaker=breaker, nested="once")
    outcomes: list[Exception] = [NotReady("down")] * 3

    def ask() -> int:
        if outcomes:
            raise outcomes.pop()
        return 12

    async def ask_async() -> int:
        return ask()

    def ask_in_a_block() -> int:
        for one_try in guarded:
            with one_try:
                return ask()
        raise AssertionError

    async def outer_async() -> int:
        return await guarded(ask_async)()

    def asked() -> int:
        if way == "coroutine function":
            return asyncio.run(guarded(outer_async)())
        inner = ask_in_a_block if way == "block" else guarded(ask)
        return guarded.call(lambda: inner())

    with pytest.raises(NotReady):
        asked()
    time.sleep(0.002)
    assert asked() == 12
    assert breaker.state == "closed"
    assert through.call(ask) == 12
