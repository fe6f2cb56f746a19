"""A backoff inside the channels of grpc, on a real server."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
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


def call_inside(kind: Kind, outer: Backoff[Any], calls: Calls, name: str) -> Any:
    """Make a call in a decorated function."""
    if kind is call:
        return outer(lambda: call(patiently, calls.address, name))()

    async def page() -> Any:
        return await call_async(patiently, calls.address, name)

    return asyncio.run(outer(page)())


@each_kind
def test_a_decorated_function_around_it_is_refused_by_name(kind: Kind) -> None:
    named = r"nuts/UNAVAILABLE \(backoff N3\) was called inside"
    with serving() as calls, pytest.raises(Misuse, match=named):
        call_inside(kind, patiently, calls, "UNAVAILABLE")
    assert calls.called == []


@each_kind
def test_a_decorated_function_around_it_that_says_once(kind: Kind) -> None:
    with serving() as calls, pytest.raises(grpc.RpcError):
        call_inside(kind, patiently.replace(nested="once"), calls, "UNAVAILABLE")
    assert len(calls.called) == 4


@each_kind
def test_a_call_that_succeeds_in_the_end(kind: Kind, caplog: pytest.LogCaptureFixture) -> None:
    with serving() as calls:
        assert kind(patiently, calls.address, "UNAVAILABLE.2") == b"acorn"
    assert len(calls.called) == 3
    assert [record.getMessage()[:30] for record in caplog.records] == [
        f"nuts/UNAVAILABLE.2: try {number} of 4" for number in (1, 2)
    ]


@each_kind
def test_a_wait_that_would_last_too_long_is_not_begun(
    kind: Kind, caplog: pytest.LogCaptureFixture
) -> None:
    with serving() as calls:
        calls.metadata.append(("grpc-retry-pushback-ms", "60000"))
        failure = failed(kind, calls, patiently.replace(within=30), "UNAVAILABLE")
    assert (failure.code().name, len(calls.called)) == ("UNAVAILABLE", 1)
    assert "no time left" in caplog.records[-1].getMessage()


@each_kind
def test_a_server_that_forbids_another_try(kind: Kind) -> None:
    with serving() as calls:
        calls.metadata.append(("grpc-retry-pushback-ms", "-1"))
        failed(kind, calls, patiently, "UNAVAILABLE")
    assert len(calls.called) == 1


@each_kind
def test_the_last_failure_is_one_of_grpc_with_its_details(kind: Kind) -> None:
    with serving() as calls:
        calls.metadata.append(("nuts", "2"))
        failure = failed(kind, calls, patiently, "UNAVAILABLE")
    assert failure.details() == "as you asked"
    assert ("nuts", "2") in [(key, value) for key, value in failure.trailing_metadata()]


@each_kind
def test_on_sees_the_failure_of_the_library(kind: Kind) -> None:
    seen: list[str] = []

    def internal(failure: Any) -> bool:
        seen.append(failure.code().name)
        return seen[-1] == "INTERNAL"

    with serving() as calls:
        assert kind(patiently.replace(on=internal), calls.address, "INTERNAL.1") == b"acorn"
        failed(kind, calls, patiently.replace(on=internal), "UNAVAILABLE")
    assert (seen, len(calls.called)) == (["INTERNAL", "UNAVAILABLE"], 3)


@each_kind
def test_what_is_sent_stays_out_of_the_log(kind: Kind, caplog: pytest.LogCaptureFixture) -> None:
    with serving() as calls:
        metadata = (("authorization", "hush"),)
        kind(patiently, calls.address, "UNAVAILABLE.1", metadata=metadata)
    assert len(caplog.records) == 1
    assert "hush" not in caplog.text
    assert "acorn" not in caplog.text


@each_kind
def test_eight_at_once(kind: Kind) -> None:
    names = [f"ABORTED.{1 + number % 2}" for number in range(8)]
    with serving() as calls, ThreadPoolExecutor(8) as pool:
        answers = pool.map(lambda name: kind(patiently, calls.address, name), names)
        assert [*answers] == [b"acorn"] * 8


@each_kind
def test_with_another_interceptor(kind: Kind) -> None:
    """An interceptor inside sees each try, one outside sees the call."""
    seen: list[str] = []

    class Outside(grpc.UnaryUnaryClientInterceptor):  # type: ignore[misc]
        word = "outside"

        def intercept_unary_unary(self, going_on: Any, details: Any, request: Any) -> Any:
            seen.append(self.word)
            return going_on(details, request)

    class Inside(Outside):
        word = "inside"

    class OutsideAsync(grpc.aio.UnaryUnaryClientInterceptor):  # type: ignore[misc]
        word = "outside"

        async def intercept_unary_unary(self, going_on: Any, details: Any, request: Any) -> Any:
            seen.append(self.word)
            return await going_on(details, request)

    class InsideAsync(OutsideAsync):
        word = "inside"

    async def ask() -> Any:
        several = [OutsideAsync(), interceptor(patiently), InsideAsync()]
        async with grpc.aio.insecure_channel(calls.address, interceptors=several) as channel:
            return await channel.unary_unary("/nuts/UNAVAILABLE.2")(b"acorn")

    with serving() as calls, grpc.insecure_channel(calls.address) as channel:
        if kind is call:
            several = Outside(), interceptor(patiently), Inside()
            asked = grpc.intercept_channel(channel, *several).unary_unary("/nuts/UNAVAILABLE.2")
            assert asked(b"acorn") == b"acorn"
        else:
            assert asyncio.run(ask()) == b"acorn"
    assert seen == ["outside", "inside", "inside", "inside"]


@each_kind
def test_ctrl_c_in_a_wait(kind: Kind) -> None:
    def interrupt() -> None:
        while not calls.called:
            time.sleep(0.01)
        time.sleep(0.1)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    with serving() as calls:
        threading.Thread(target=interrupt).start()
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            kind(backoff(N3, schedule=Constant(30)), calls.address, "UNAVAILABLE")
        assert time.monotonic() - began < 10
    assert calls.called == ["UNAVAILABLE"]


@each_kind
def test_without_until(kind: Kind) -> None:
    with pytest.raises(Misuse, match="until= in a client"):
        kind(backoff(N3, until=bool), "127.0.0.1:9", "well")
    wrong: Any = N3
    with pytest.raises(Misuse, match="give a backoff"):
        kind(wrong, "127.0.0.1:9", "well")


def test_a_future_and_a_call_with_its_details() -> None:
    with serving() as calls, grpc.insecure_channel(calls.address) as channel:
        intercepted = grpc.intercept_channel(channel, interceptor(patiently))
        unavailable = intercepted.unary_unary("/nuts/UNAVAILABLE")
        failure = unavailable.future(b"acorn").exception()
        assert failure.code() is grpc.StatusCode.UNAVAILABLE
        assert len(calls.called) == 4
        answer, details = intercepted.unary_unary("/nuts/well").with_call(b"acorn")
        assert (answer, details.code()) == (b"acorn", grpc.StatusCode.OK)


@each_kind
def test_streams_are_asked_once(kind: Kind) -> None:
    async def ask() -> None:
        interceptors = [interceptor(patiently)]
        async with grpc.aio.insecure_channel(calls.address, interceptors=interceptors) as channel:
            async for _ in channel.unary_stream("/nuts/stream")(b"acorn"):
                pass

    def ask_sync() -> None:
        with grpc.insecure_channel(calls.address) as channel:
            intercepted = grpc.intercept_channel(channel, interceptor(patiently))
            list(intercepted.unary_stream("/nuts/stream")(b"acorn"))

    with serving() as calls:
        with pytest.raises(grpc.RpcError):
            ask_sync() if kind is call else asyncio.run(ask())
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
