"""Servers of gRPC, sync and aio, whose method calls a function, behind the interceptor."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

import grpc  # type: ignore[import-untyped]
import grpc.aio  # type: ignore[import-untyped]

from ixbackoff.middleware import grpc_server

Work = Callable[[], Any]
UNAVAILABLE = grpc.StatusCode.UNAVAILABLE


class Handler(grpc.GenericRpcHandler):  # type: ignore[misc]
    """`/nuts/raise` and `/nuts/abort` fail as they say; `/nuts/well` succeeds; `/nuts/stream`."""

    def __init__(self, work: Work, seen: list[dict[str, Any]], awaits: bool) -> None:
        self.work, self.seen, self.awaits = work, seen, awaits

    def service(self, details: Any) -> Any:
        name = details.method.rpartition("/")[2]

        def say(context: Any, failed: Exception | None) -> None:
            context.set_trailing_metadata((("nuts", "2"),))
            if failed is not None and name in ("raise", "code"):
                context.set_code(UNAVAILABLE)
            if failed is not None and name == "raise":
                raise failed

        def answer(request: bytes, context: Any) -> bytes:
            self.seen.append(dict(context.invocation_metadata()))
            failed = tried(self.work)
            say(context, failed)
            if failed is not None and name == "abort":
                context.abort(UNAVAILABLE, "down")
            return request

        async def answer_async(request: bytes, context: Any) -> bytes:
            self.seen.append(dict(context.invocation_metadata()))
            failed = None
            try:
                await self.work()
            except Exception as failure:
                failed = failure
            say(context, failed)
            if failed is not None and name == "abort":
                await context.abort(UNAVAILABLE, "down")
            return request

        def stream(request: bytes, _: Any) -> Generator[bytes]:
            tried(self.work)
            yield request

        if name == "stream":
            return grpc.unary_stream_rpc_method_handler(stream)
        return grpc.unary_unary_rpc_method_handler(answer_async if self.awaits else answer)


def tried(work: Work) -> Exception | None:
    try:
        work()
    except Exception as failure:
        return failure
    return None


@contextmanager
def serving_sync(work: Work, seen: list[dict[str, Any]], **options: Any) -> Generator[str]:
    with ThreadPoolExecutor(2) as pool:
        server = grpc.server(pool, [Handler(work, seen, False)], [grpc_server(**options)])
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            yield f"127.0.0.1:{port}"
        finally:
            server.stop(0.0).wait()


@contextmanager
def serving_aio(work: Work, seen: list[dict[str, Any]], **options: Any) -> Generator[str]:
    ports, begun, loop = list[int](), Event(), asyncio.new_event_loop()
    over = asyncio.Event()

    async def main() -> None:
        interceptors = [grpc_server(**options)]
        server = grpc.aio.server(handlers=[Handler(work, seen, True)], interceptors=interceptors)
        ports.append(server.add_insecure_port("127.0.0.1:0"))
        await server.start()
        begun.set()
        await over.wait()
        await server.stop(0.0)

    thread = Thread(target=loop.run_until_complete, args=(main(),))
    thread.start()
    try:
        assert begun.wait(10.0)
        yield f"127.0.0.1:{ports[0]}"
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
        loop.close()


SERVING: dict[str, Any] = {"sync": serving_sync, "aio": serving_aio}
