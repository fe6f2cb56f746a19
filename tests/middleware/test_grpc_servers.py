"""Services of gRPC: marks and deadlines of their callers, and metadata that say no."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import grpc  # type: ignore[import-untyped]
import grpc.aio  # type: ignore[import-untyped]
import pytest

from ixbackoff import N0, backoff
from ixbackoff._limits.served_requests import ServedRequest, beginning
from ixbackoff._words.try_header import read
from ixbackoff.clients import interceptor, marks

from ..support.servers.asgi_work import TRIES, fails, fails_async, often
from ..support.servers.grpc_work import SERVING

WORK = {"sync": fails, "aio": fails_async}
both = pytest.mark.parametrize("kind", ["sync", "aio"])


def call(
    kind: str, address: str, method: str, *interceptors: Any, tries: Any = None, **options: Any
) -> Any:
    """Call a method by a channel of this kind; return the failure, `None` if there is none."""

    async def call_async() -> None:
        async with grpc.aio.insecure_channel(address, interceptors=interceptors) as channel:

            async def ask() -> None:
                await channel.unary_unary(f"/nuts/{method}")(b"acorn", **options)

            await (ask if tries is None else tries(ask))()

    try:
        if kind == "aio":
            asyncio.run(call_async())
        else:
            with grpc.insecure_channel(address) as plain:
                channel = grpc.intercept_channel(plain, *interceptors)

                def ask() -> None:
                    channel.unary_unary(f"/nuts/{method}")(b"acorn", **options)

                (ask if tries is None else tries(ask))()
    except grpc.RpcError as failure:
        return failure


@both
@pytest.mark.parametrize("method", ["raise", "abort", "code"])
def test_retries_in_vain_forbid_another_try(kind: str, method: str) -> None:
    seen: list[dict[str, Any]] = []
    TRIES.clear()
    with SERVING[kind](WORK[kind], seen) as address:
        failure = call(kind, address, method, tries=often)
        assert (len(seen), len(TRIES)) == (1, 4)
        assert failure.code() == grpc.StatusCode.UNAVAILABLE
        metadata = dict(failure.trailing_metadata())
        assert metadata["grpc-retry-pushback-ms"] == "-1"
        assert metadata["nuts"] == "2"
        assert call(kind, address, "well") is None
    with SERVING[kind](WORK[kind], seen, say=False) as address:
        call(kind, address, method, tries=often)
        assert len(seen) == 2 + 4


@both
@pytest.mark.parametrize("around", [True, False])
def test_a_marked_call_is_tried_once_inside(kind: str, around: bool) -> None:
    seen: list[dict[str, Any]] = []
    TRIES.clear()
    with SERVING[kind](WORK[kind], seen) as address:
        if around:
            call(kind, address, "raise", marks.grpc(), tries=often)
        else:
            call(kind, address, "raise", interceptor(often), marks.grpc())
    said = [one.get("ixbackoff-try") for one in seen]
    assert said == ["n=1, more=3", "n=2, more=2", "n=3, more=1", "n=4, more=0"]
    assert TRIES == [None] * 4


@both
def test_the_deadline_of_a_call_is_its_time(kind: str) -> None:
    """gRPC rounds it up, to a hundredth."""
    seen: list[dict[str, Any]] = []
    TRIES.clear()
    with SERVING[kind](WORK[kind], seen) as address:
        call(kind, address, "raise", timeout=7)
        call(kind, address, "raise", marks.grpc(), tries=backoff(N0, within=5))
        call(kind, address, "raise", marks.grpc(again=False), tries=often)
    assert [tries is not None and 6 < tries < 7.1 for tries in TRIES[:4]] == [True] * 4
    assert [tries is not None and 4 < tries < 5.1 for tries in TRIES[4:8]] == [True] * 4
    assert TRIES[8:] == [None] * 4
    assert not any("ixbackoff-try" in one for one in seen)


@both
def test_a_no_is_passed_up_and_a_mark_down_where_nothing_retries(kind: str) -> None:
    seen: list[dict[str, Any]] = []
    request = serving("n=2, more=0, left=5")
    with SERVING[kind](WORK[kind], seen) as address, request.inside():
        call(kind, address, "raise", marks.grpc())
        assert not request.in_vain
        with beginning("nested", False)("GET /", read("")).inside():
            call(kind, address, "raise", marks.grpc())
            call(kind, address, "well", marks.grpc())
        call(kind, address, "raise", marks.grpc(again=False))
        assert request.in_vain
    assert [one.get("ixbackoff-try") for one in seen] == ["n=2, more=0", None, None, None]


def serving(text: str) -> ServedRequest:
    return beginning("nested", False)("GET /", read(text))


def test_a_stream_is_left_alone() -> None:
    TRIES.clear()
    with SERVING["sync"](fails, []) as address, grpc.insecure_channel(address) as channel:
        marked = (("ixbackoff-try", "n=1"),)
        with suppress(grpc.RpcError):
            assert list(channel.unary_stream("/nuts/stream")(b"nut", metadata=marked)) == [b"nut"]
    assert len(TRIES) == 4
