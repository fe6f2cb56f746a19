"""A real gRPC server that ends each call as its method's name says."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from threading import Event
from typing import Any, NamedTuple

import grpc  # type: ignore[import-untyped]

infos: Any = import_module("google.rpc.error_details_pb2")
statuses: Any = import_module("google.rpc.status_pb2")
messages: Any = import_module("google.protobuf.any_pb2")

CODES: dict[str, Any] = {code.name: code for code in grpc.StatusCode}


SAID = "as you asked"


def status(code: str, *details: Any) -> bytes:
    """Serialize a `google.rpc.Status` with details, as servers send it."""
    made = statuses.Status(code=CODES[code].value[0], message=SAID)
    for detail in details:
        packed = messages.Any()
        packed.Pack(detail)
        made.details.append(packed)
    return bytes(made.SerializeToString())


def delay(seconds: int, nanos: int = 0) -> Any:
    """Make a `google.rpc.RetryInfo`."""
    info = infos.RetryInfo()
    info.retry_delay.seconds, info.retry_delay.nanos = seconds, nanos
    return info


class Calls(NamedTuple):
    """A server: its address, the methods that were called, and the metadata that ends calls."""

    address: str
    called: list[str]
    metadata: list[tuple[str, str | bytes]]


class Handler(grpc.GenericRpcHandler):  # type: ignore[misc]
    """Ends `/nuts/UNAVAILABLE` with that status; `hang`, `crash`, `large` and `stream` say it.

    `/nuts/UNAVAILABLE.2` ends with that status twice, and then well.
    """

    def __init__(self, calls: Calls, stopped: Event) -> None:
        self.calls = calls
        self.stopped = stopped

    def service(self, details: Any) -> Any:
        name = details.method.rpartition("/")[2]

        def answer(request: bytes, context: Any) -> bytes:
            self.calls.called.append(name)
            if name == "hang":
                self.stopped.wait(20.0)
            if name == "crash":
                raise ArithmeticError
            if name == "large":
                return b"x" * 5_000_000
            code, _, times = name.partition(".")
            if code in CODES and (not times or self.calls.called.count(name) <= int(times)):
                context.set_trailing_metadata(tuple(self.calls.metadata))
                context.abort(CODES[code], SAID)
            return request

        def stream(request: bytes, context: Any) -> Generator[bytes]:
            self.calls.called.append(name)
            yield request
            context.abort(grpc.StatusCode.UNAVAILABLE, "in the middle")

        if name == "stream":
            return grpc.unary_stream_rpc_method_handler(stream)
        return grpc.unary_unary_rpc_method_handler(answer)


@contextmanager
def serving(credentials: Any = None) -> Generator[Calls]:
    """Start a server on loopback, with TLS if there are credentials."""
    stopped = Event()
    with ThreadPoolExecutor(8) as pool:
        server = grpc.server(pool)
        if credentials is None:
            port = server.add_insecure_port("127.0.0.1:0")
        else:
            port = server.add_secure_port("127.0.0.1:0", credentials)
        calls = Calls(f"127.0.0.1:{port}", [], [])
        server.add_generic_rpc_handlers((Handler(calls, stopped),))
        server.start()
        try:
            yield calls
        finally:
            stopped.set()
            server.stop(0.0).wait()
