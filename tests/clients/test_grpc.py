"""A backoff inside the channels of grpc, on a real server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import grpc  # type: ignore[import-untyped]
import pytest

from ixbackoff import (
    N3,
    Backoff,
    CircuitBreaker,
    CircuitOpen,
    Misuse,
    RetryBudget,
    backoff,
    observing,
)
from ixbackoff.clients import interceptor
from ixbackoff.schedules import Constant
from ixbackoff.testing import no_waits

from ..support.servers.grpc import Calls, serving
from ..support.servers.ports import free_port

SHORT = Constant(0.001)
patiently = backoff(N3, schedule=SHORT)


def call(backoff: Backoff[Any], address: str, name: str, **options: Any) -> Any:
    with grpc.insecure_channel(address) as channel:
        intercepted = grpc.intercept_channel(channel, interceptor(backoff))
        return intercepted.unary_unary(f"/nuts/{name}")(b"acorn", **options)


async def call_async(backoff: Backoff[Any], address: str, name: str, **options: Any) -> Any:
    interceptors = [interceptor(backoff)]
    async with grpc.aio.insecure_channel(address, interceptors=interceptors) as channel:
        return await channel.unary_unary(f"/nuts/{name}")(b"acorn", **options)


def call_in_loop(*args: Any, **options: Any) -> Any:
    return asyncio.run(call_async(*args, **options))


each_kind = pytest.mark.parametrize("kind", [call, call_in_loop], ids=["sync", "aio"])
Kind = Callable[..., Any]


def failed(kind: Kind, calls: Calls, used: Backoff[Any], name: str, **options: Any) -> Any:
    with pytest.raises(grpc.RpcError) as caught:
        kind(used, calls.address, name, **options)
    return caught.value


@each_kind
@pytest.mark.parametrize(
    ("name", "asked"), [("UNAVAILABLE", 4), ("ABORTED", 4), ("NOT_FOUND", 1), ("INTERNAL", 1)]
)
def test_calls_are_repeated_by_their_status(kind: Kind, name: str, asked: int) -> None:
    with serving() as calls:
        failure = failed(kind, calls, patiently, name)
    assert (failure.code().name, len(calls.called)) == (name, asked)
    assert any(f"tries: {asked}, waits: {asked - 1}" in note for note in failure.__notes__)


@each_kind
def test_a_call_that_succeeds(kind: Kind) -> None:
    with serving() as calls:
        assert kind(patiently, calls.address, "well") == b"acorn"
    assert calls.called == ["well"]


@each_kind
def test_the_server_says_when(kind: Kind) -> None:
    with serving() as calls, no_waits() as ours:
        calls.metadata.append(("grpc-retry-pushback-ms", "3000"))
        failed(kind, calls, patiently, "UNAVAILABLE")
    assert ours.waited == [3.0, 3.0, 3.0]


@each_kind
def test_nobody_listens(kind: Kind) -> None:
    nobody = Calls(f"127.0.0.1:{free_port()}", [], [])
    failure = failed(kind, nobody, patiently, "well")
    assert failure.code() is grpc.StatusCode.UNAVAILABLE
    assert any("tries: 4" in note for note in failure.__notes__)


@each_kind
def test_a_call_has_the_time_that_is_left(kind: Kind) -> None:
    with serving() as calls:
        began = time.monotonic()
        with pytest.raises((grpc.RpcError, TimeoutError)):
            kind(patiently.replace(within=0.3), calls.address, "hang")
        assert time.monotonic() - began < 5
        failure = failed(kind, calls, patiently.replace(within=30), "hang", timeout=0.1)
        assert failure.code() is grpc.StatusCode.DEADLINE_EXCEEDED


@each_kind
def test_a_budget_and_a_breaker(kind: Kind) -> None:
    with serving() as calls:
        failed(kind, calls, patiently.replace(budget=RetryBudget(1)), "UNAVAILABLE")
        assert len(calls.called) == 2
        breaker = CircuitBreaker(failures=1, within=60, open_for=60)
        guarded = patiently.replace(breaker=breaker, within=1)
        for _ in range(2):
            with pytest.raises(CircuitOpen):
                kind(guarded, calls.address, "UNAVAILABLE")
        assert len(calls.called) == 3


@each_kind
def test_observers_see_each_call(kind: Kind) -> None:
    events: list[observing.Event] = []
    with serving() as calls, observing.observed(events.append):
        failed(kind, calls, patiently, "UNAVAILABLE")
    assert [type(event).__name__ for event in events].count("WaitBegan") == 3
    assert {event.run.name for event in events if hasattr(event, "run")} == {"nuts/UNAVAILABLE"}


@pytest.mark.parametrize("nested", ["refused", "once"])
def test_a_decorated_function_around_it(nested: Any) -> None:
    with serving() as calls:

        @backoff(N3, schedule=SHORT, nested=nested)
        def page() -> Any:
            return call(patiently, calls.address, "UNAVAILABLE")

        @backoff(N3, schedule=SHORT, nested=nested)
        async def page_async() -> Any:
            return await call_async(patiently, calls.address, "UNAVAILABLE")

        for function in page, lambda: asyncio.run(page_async()):
            calls.called.clear()
            with pytest.raises(Misuse if nested == "refused" else grpc.RpcError) as caught:
                function()
            assert len(calls.called) == (0 if nested == "refused" else 4)
            if nested == "refused":
                assert "nuts/UNAVAILABLE (backoff N3) was called inside" in str(caught.value)


def test_a_future_and_a_call_with_its_details() -> None:
    with serving() as calls, grpc.insecure_channel(calls.address) as channel:
        intercepted = grpc.intercept_channel(channel, interceptor(patiently))
        unavailable = intercepted.unary_unary("/nuts/UNAVAILABLE")
        failure = unavailable.future(b"acorn").exception()
        assert failure.code() is grpc.StatusCode.UNAVAILABLE
        assert len(calls.called) == 4
        answer, details = intercepted.unary_unary("/nuts/well").with_call(b"acorn")
        assert (answer, details.code()) == (b"acorn", grpc.StatusCode.OK)


def test_streams_are_asked_once() -> None:
    with serving() as calls, grpc.insecure_channel(calls.address) as channel:
        intercepted = grpc.intercept_channel(channel, interceptor(patiently))
        with pytest.raises(grpc.RpcError):
            list(intercepted.unary_stream("/nuts/stream")(b"acorn"))
    assert calls.called == ["stream"]


def test_a_cancelled_call_is_not_repeated() -> None:
    async def cancelled() -> None:
        interceptors = [interceptor(backoff(N3, schedule=Constant(30)))]
        async with grpc.aio.insecure_channel(calls.address, interceptors=interceptors) as channel:
            waiting = channel.unary_unary("/nuts/UNAVAILABLE")(b"acorn")
            task = asyncio.ensure_future(waiting.code())
            while not calls.called:
                await asyncio.sleep(0.01)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            task.cancel()

    with serving() as calls:
        asyncio.run(cancelled())
    assert calls.called == ["UNAVAILABLE"]
