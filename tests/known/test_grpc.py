"""Failures of gRPC, sync and async, against a real server that ends calls by its method's name."""

from __future__ import annotations

import asyncio
import inspect
import socket
import struct
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

import grpc  # type: ignore[import-untyped]
import grpc.aio  # type: ignore[import-untyped]
import pytest

from ixbackoff import known

from ..support.clients.tries import (
    FOUR_TIMES,
    Tried,
    failure_of,
    failure_of_async,
    tried,
    tried_async,
)
from ..support.servers.certificates import self_signed
from ..support.servers.grpc import CODES, Calls, delay, infos, serving, status

PASSING = {"UNAVAILABLE", "RESOURCE_EXHAUSTED", "ABORTED"}


def called(address: str, method: str, timeout: float = 10.0, request: bytes = b"acorn") -> Tried:
    with grpc.insecure_channel(address) as channel:
        call = channel.unary_unary(f"/nuts/{method}")
        return tried(lambda: call(request, timeout=timeout))


def called_async(
    address: str, method: str, timeout: float = 10.0, request: bytes = b"acorn"
) -> Tried:
    async def running() -> Tried:
        async with grpc.aio.insecure_channel(address) as channel:
            call = channel.unary_unary(f"/nuts/{method}")
            return await tried_async(lambda: call(request, timeout=timeout))

    return asyncio.run(running())


each_way = pytest.mark.parametrize("called", [called, called_async])
Called = Callable[..., Tried]


@pytest.fixture(scope="module")
def running() -> Generator[Calls]:
    with serving() as calls:
        yield calls


@pytest.fixture
def server(running: Calls) -> Calls:
    running.called.clear()
    running.metadata.clear()
    return running


@each_way
@pytest.mark.parametrize("code", [code for code in CODES if code != "OK"])
def test_the_status_decides(called: Called, code: str, server: Calls) -> None:
    told = called(server.address, code)
    assert told.tries == len(server.called) == (FOUR_TIMES if code in PASSING else 1)
    assert told.why.startswith("" if code in PASSING else f"grpc {code}")


@each_way
def test_a_deadline_may_have_come_after_the_work(called: Called, server: Calls) -> None:
    told = called(server.address, "hang", timeout=0.1)
    assert len(server.called) == 1
    assert told.why == "grpc DEADLINE_EXCEEDED: the call may have been carried out"


@each_way
def test_a_server_that_crashes_is_asked_once(called: Called, server: Calls) -> None:
    assert called(server.address, "crash").why == "grpc UNKNOWN"
    assert len(server.called) == 1


@each_way
def test_a_message_that_is_too_large_stays_so(called: Called, server: Calls) -> None:
    why = "grpc RESOURCE_EXHAUSTED: the message is too large"
    assert called(server.address, "large").why == why
    assert called(server.address, "send", request=b"x" * 5_000_000).why == why
    assert server.called == ["large"]


@each_way
def test_a_method_that_does_not_exist_is_asked_once(called: Called) -> None:
    server = grpc.server(None)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    told = called(f"127.0.0.1:{port}", "any")
    server.stop(0.0).wait()
    assert (told.tries, told.why) == (1, "grpc UNIMPLEMENTED")


def test_a_stream_that_breaks_off_passes(server: Calls) -> None:
    with grpc.insecure_channel(server.address) as channel:
        call = channel.unary_stream("/nuts/stream")
        told = tried(lambda: list(call(b"acorn", timeout=10.0)))
    assert len(server.called) == told.tries == FOUR_TIMES


def test_an_async_stream_that_breaks_off_passes(server: Calls) -> None:
    async def running() -> Tried:
        async with grpc.aio.insecure_channel(server.address) as channel:
            call = channel.unary_stream("/nuts/stream")

            async def read() -> list[bytes]:
                return [each async for each in call(b"acorn", timeout=10.0)]

            return await tried_async(read)

    assert asyncio.run(running()).tries == FOUR_TIMES
    assert len(server.called) == FOUR_TIMES


@contextmanager
def resetting() -> Generator[str]:
    """Start a server that resets each connection when its client has said something."""

    def listen() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                with client:
                    client.recv(4096)
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=listen)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


@each_way
def test_a_reset_connection_passes(called: Called) -> None:
    with resetting() as address:
        assert called(address, "any").tries == FOUR_TIMES


@each_way
def test_a_refused_connection_passes(called: Called) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        assert called(f"127.0.0.1:{closed.getsockname()[1]}", "any").tries == FOUR_TIMES


@each_way
def test_a_host_that_does_not_exist_does_not(called: Called) -> None:
    told = called("oak.invalid:80", "any")
    why = "grpc UNAVAILABLE: the name of the host is not known"
    assert (told.tries, told.why) == (1, why)


def test_a_certificate_that_does_not_verify_does_not(tmp_path: Path) -> None:
    pem = self_signed(tmp_path).read_bytes()
    end = pem.index(b"-----BEGIN CERTIFICATE")
    secure = grpc.ssl_server_credentials([(pem[:end], pem[end:])])
    credentials = grpc.ssl_channel_credentials()
    with serving(secure) as calls, grpc.secure_channel(calls.address, credentials) as channel:
        told = tried(lambda: channel.unary_unary("/nuts/any")(b"", timeout=10.0))
    why = "grpc UNAVAILABLE: the certificate does not verify"
    assert (told.tries, told.why) == (1, why)


DETAILS = "grpc-status-details-bin"


@pytest.mark.parametrize(
    ("metadata", "seconds"),
    [
        (("grpc-retry-pushback-ms", "1500"), 1.5),
        (("grpc-retry-pushback-ms", "0"), 0.0),
        ((DETAILS, status("ABORTED", infos.ErrorInfo(), delay(2, 500_000_000))), 2.5),
        ((DETAILS, status("ABORTED", infos.ErrorInfo())), None),
        ((DETAILS, status("ABORTED", delay(-1))), 0.0),
        ((DETAILS, b"\xff nonsense"), None),
        (("retry-after", "5"), None),
    ],
)
def test_the_time_that_is_asked_for(
    metadata: tuple[str, str | bytes], seconds: float | None, server: Calls
) -> None:
    server.metadata.append(metadata)
    for failure in (once(server.address), asyncio.run(once_async(server.address))):
        assert known.is_transient(failure)
        assert known.retry_after(failure) == seconds


def once(address: str) -> Exception:
    with grpc.insecure_channel(address) as channel:
        call = channel.unary_unary("/nuts/ABORTED")
        return failure_of(lambda: call(b"", timeout=10.0))


async def once_async(address: str) -> Exception:
    async with grpc.aio.insecure_channel(address) as channel:
        call = channel.unary_unary("/nuts/ABORTED")
        return await failure_of_async(lambda: call(b"", timeout=10.0))


@each_way
@pytest.mark.parametrize("pushback", ["-1", "never", "1e3"])
def test_a_server_may_forbid_another_try(called: Called, pushback: str, server: Calls) -> None:
    server.metadata.append(("grpc-retry-pushback-ms", pushback))
    told = called(server.address, "UNAVAILABLE")
    why = "grpc UNAVAILABLE: the server forbids another try"
    assert (told.tries, told.why) == (1, why)


def test_each_class_has_a_verdict() -> None:
    kinds = {
        kind
        for module in (grpc, grpc.aio)
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if issubclass(kind, Exception)
    }
    names = {"RpcError", "FutureTimeoutError", "FutureCancelledError", "UsageError", "BaseError"}
    assert {kind.__name__ for kind in kinds} >= names
    for kind in kinds - {grpc.aio.AioRpcError}:
        told = known.judge(kind())
        assert not told.transient, kind
        assert told.why == f"{kind.__module__}.{kind.__qualname__} without a status"
