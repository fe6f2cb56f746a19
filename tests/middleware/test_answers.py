"""What an answer says about retries in vain, and what errors and other requests see of a mark."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from typing import Any
from wsgiref.util import FileWrapper, setup_testing_defaults

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import (
    N0,
    N3,
    CircuitBreaker,
    Constant,
    DeadlineExceeded,
    Misuse,
    NotReady,
    Throttle,
    at,
    backoff,
    call,
    do,
    time_limit,
)
from ixbackoff.live import live
from ixbackoff.middleware import apart, asgi, wsgi

from ..support.servers.layered_services import InProcess, answer

often = backoff(N3, schedule=Constant(0), nested="once")


def asked(work: Callable[[], object], status: int = 503, headers: Any = (), **options: Any) -> Any:
    """Ask a service that works, and answers with `status`; return the answer."""
    given = options.pop("given", {})

    async def app(_: Any, __: Any, send: Any) -> None:
        with suppress(Exception):
            made: Any = work()
            if asyncio.iscoroutine(made):
                await made
        await answer(send, status, headers)

    async def get() -> httpx.Response:
        async with httpx.AsyncClient(transport=InProcess(asgi(app, **options))) as client:
            return await client.get("http://here/nuts%0A", headers=given)

    return asyncio.run(get())


def failing(failure: Exception) -> Callable[[], Any]:
    @often
    def fails() -> None:
        raise failure

    return fails


def told(status: int, **headers: str) -> Exception:
    request = httpx.Request("GET", "http://below")
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    response = httpx.Response(status, headers=named, request=request)
    return httpx.HTTPStatusError("", request=request, response=response)


@given(st.integers(200, 599))
def test_only_a_failure_that_may_pass_says_it(status: int) -> None:
    answer = asked(failing(NotReady()), status)
    said = {"x-should-retry": "false"} if status == 429 or status >= 500 else {}
    assert dict(answer.headers) == said


@pytest.mark.parametrize(
    ("work", "says"),
    [
        (failing(NotReady()), True),
        (failing(ValueError()), False),  # tried once: it may not pass
        (failing(told(404)), False),
        (failing(told(503, x_should_retry="false")), True),
        (failing(told(400, x_should_retry="false")), True),
        (failing(told(500, finagle_http_nonretryable_nack="1")), True),
        (failing(told(404, x_should_retry="true")), False),
        (failing(told(404, x_envoy_overloaded="true")), False),
        (lambda: None, False),
    ],
)
def test_who_says_it(work: Callable[[], Any], says: bool) -> None:
    assert ("x-should-retry" in asked(work).headers) == says
    assert "x-should-retry" not in asked(work, say=False).headers


def test_programs_and_blocks_say_it_too() -> None:
    def fails() -> None:
        raise NotReady

    def block() -> None:
        for one in often:
            with one:
                raise NotReady

    def program() -> None:
        at(N3).retry(call(fails)).run(live(), schedule=Constant(0))

    for work in block, program:
        assert asked(work).headers["x-should-retry"] == "false"


def test_it_replaces_what_the_application_says() -> None:
    answer = asked(failing(NotReady()), headers=[(b"X-Should-Retry", b"true"), (b"a", b"b")])
    assert answer.headers.get_list("x-should-retry") == ["false"]
    assert answer.headers["a"] == "b"


def test_with_proxies_it_is_said_to_envoy_and_heard_from_it() -> None:
    for headers in {"x_envoy_overloaded": "true"}, {"x_envoy_ratelimited": "true"}:
        answer = asked(failing(told(404, **headers)), proxies=True)
        assert answer.headers["x-envoy-overloaded"] == "true"
    assert "x-envoy-overloaded" not in asked(failing(NotReady())).headers
    tries: list[int] = []
    asked(lambda: counted(tries), given={"x-envoy-attempt-count": "2"}, proxies=True)
    assert len(tries) == 1
    asked(lambda: counted(tries), given={"x-envoy-attempt-count": "1"}, proxies=True)
    asked(lambda: counted(tries), given={"x-envoy-attempt-count": "2"})
    assert len(tries) == 9


@often
def counted(tries: list[int]) -> None:
    tries.append(1)
    raise NotReady


MARK = {"ixbackoff-try": "n=2, more=1"}


@pytest.mark.parametrize(
    ("inner", "header", "nested", "tries"),
    [
        ("nested", "n=1, more=3", "once", 1),
        ("nested", "n=1, more=3", "refused", 4),
        ("once", "n=1, more=3", "refused", 1),
        ("once", "n=1, more=0", "refused", 1),
        ("last", "n=1, more=3", "refused", 1),
        ("last", "n=1", "refused", 1),
        ("last", "n=4, more=0", "once", 4),
        ("once", "left=5", "refused", 4),
    ],
)
def test_the_functions_that_are_tried_once(
    inner: str, header: str, nested: Any, tries: int
) -> None:
    noted: list[int] = []
    function = often.replace(nested=nested)(lambda: counted_plainly(noted))
    asked(function, inner=inner, given={"ixbackoff-try": header})
    assert len(noted) == tries


def counted_plainly(noted: list[int]) -> None:
    noted.append(1)
    raise NotReady


def test_a_note_says_why_there_was_one_try() -> None:
    failure = NotReady()
    answer = asked(failing(failure), given=MARK)
    assert "x-should-retry" not in answer.headers
    where = "inside GET /nuts\\n, try 2 of a caller who may try again"  # no line break
    assert any(note.endswith(where) for note in failure.__notes__)


def test_notes_of_strangers_do_not_pile_up() -> None:
    failure = NotReady()  # as a cache may raise it, to all who ask
    for number in range(1, 9):
        asked(failing(failure), given={"ixbackoff-try": f"n={number}"})
    assert len(failure.__notes__) == 2


def test_a_mark_leaves_no_trace_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "ixbackoff"):
        asked(failing(NotReady()), given=MARK)
    assert not any("caller" in message or "nuts" in message for message in caplog.messages)


def test_work_apart_is_not_part_of_the_request() -> None:
    limits: list[float | None] = []

    @often
    def fails() -> None:
        limits.append(time_limit())
        raise NotReady

    async def work() -> None:
        with apart(), suppress(NotReady):
            fails()
        assert time_limit() is not None

    answer = asked(work, given={"ixbackoff-try": "n=1, left=5"})
    assert limits == [None] * 4
    assert "x-should-retry" not in answer.headers


def test_no_time_left_and_nothing_is_called() -> None:
    failures: list[BaseException] = []
    called: list[int] = []

    async def work() -> None:
        for nested in "once", "refused":
            try:
                often.replace(nested=nested)(counted_plainly)(called)
            except DeadlineExceeded as failure:
                failures.append(failure)

    def block() -> None:
        for one in often:
            with one:
                called.append(1)

    asked(block, given={"ixbackoff-try": "left=0"})
    asked(work, given={"ixbackoff-try": "n=1, left=0"})
    asked(work, given={"ixbackoff-try": "left=0"})
    assert len(failures) == 4
    assert called == []


def test_an_awaited_function_is_cancelled_when_the_caller_goes() -> None:
    asyncio_sleep = backoff(N3)(asyncio.sleep)
    ended: list[bool] = []

    async def work() -> None:
        with pytest.raises(DeadlineExceeded):
            await asyncio_sleep(20)
        ended.append(True)

    asked(work, given={"ixbackoff-try": "left=0.05"})
    assert ended == [True]


def test_a_wait_that_would_end_later_is_refused() -> None:
    tries: list[int] = []
    slowly = backoff(N3, schedule=Constant(20))(lambda: counted_plainly(tries))
    asked(slowly, given={"ixbackoff-try": "left=5"})
    asked(
        lambda: at(N3).retry(call(counted_plainly, tries)).run(live(), schedule=Constant(20)),
        given={"ixbackoff-try": "left=5"},
    )
    assert tries == [1, 1]


@pytest.mark.parametrize("asks", ["function", "coroutine", "once"])
def test_the_haste_of_a_caller_opens_no_breaker(asks: str) -> None:
    """Else a stranger could shut a service for all others."""
    breaker = CircuitBreaker(failures=1, within=10, open_for=30)
    through = Throttle()
    guarded = backoff(N3, breaker=breaker, through=through, nested="once")

    def slow() -> None:
        time.sleep(0.03)
        raise TimeoutError

    function: Any = guarded(asyncio.sleep) if asks == "coroutine" else guarded(slow)
    header = "n=1, left=0.01" if asks == "once" else "left=0.01"
    for _ in range(3):
        given = {"ixbackoff-try": header}
        asked(lambda: function(20) if asks == "coroutine" else function(), given=given)
    assert breaker.closed
    assert through.share == 0
    with suppress(TimeoutError):
        guarded.replace(within=0.01, through=None)(slow)()
    assert not breaker.closed


@pytest.mark.parametrize("way", ["run", "attempt"])
@pytest.mark.parametrize("guard", ["breaker", "gate"])
def test_the_haste_of_a_caller_opens_no_breaker_of_a_program_either(guard: str, way: str) -> None:
    breaker, gate = CircuitBreaker(failures=1, within=10, open_for=30), Throttle()

    def times_out() -> None:
        time.sleep(min(time_limit() or 0.0, 0.05) + 0.001)
        raise TimeoutError

    effect = do(call(times_out)).limit(5) if way == "attempt" else do(call(times_out))
    program = at(N0).do(effect.guarded(breaker) if guard == "breaker" else effect.through(gate))
    for _ in range(3):
        asked(lambda: program.run(live()), given={"ixbackoff-try": "left=0.01"})
    assert breaker.closed
    assert gate.share == 0
    with suppress(TimeoutError):
        program.run(live())
    assert (not breaker.closed, gate.share > 0) == (guard == "breaker", guard == "gate")


@pytest.mark.parametrize("inner", ["refused", "ignored", None, "Once"])
def test_inner_is_checked(inner: Any) -> None:
    for middleware in asgi, wsgi:
        with pytest.raises(Misuse, match='give "nested", "once" or "last"'):
            middleware(print, inner=inner)  # type: ignore[arg-type]


def test_a_file_reaches_the_server_as_its_own_wrapper() -> None:
    """So that the server can have the system send it."""
    environ: dict[str, Any] = {"wsgi.file_wrapper": FileWrapper}
    setup_testing_defaults(environ)
    app = wsgi(lambda environ, _: environ["wsgi.file_wrapper"](BytesIO(b"acorn")))
    assert type(app(environ, lambda *_: print)) is FileWrapper


def test_an_early_hint_does_not_end_the_request() -> None:
    tries: list[int] = []

    async def app(_: Any, __: Any, send: Any) -> None:
        await send({"type": "http.response.early_hint", "links": [b"</style.css>; rel=preload"]})
        with suppress(NotReady):
            counted(tries)
        await answer(send, 200)

    async def get() -> None:
        async with httpx.AsyncClient(transport=InProcess(asgi(app))) as client:
            await client.get("http://here/", headers=MARK)

    asyncio.run(get())
    assert tries == [1]


def test_a_stream_that_breaks_after_its_headers_says_nothing() -> None:
    async def app(_: Any, __: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"one", "more_body": True})
        failing(NotReady())()

    async def get() -> None:
        async with httpx.AsyncClient(transport=InProcess(asgi(app))) as client:
            await client.get("http://here/")

    with pytest.raises(NotReady):
        asyncio.run(get())


def test_a_call_in_the_process_of_its_caller_has_no_more_time_and_leaves_no_trace() -> None:
    limits: list[float | None] = []

    async def app(_: Any, __: Any, send: Any) -> None:
        limits.append(time_limit())
        await answer(send, 200)

    async def get() -> None:
        transport = httpx.ASGITransport(asgi(app))  # in the same context
        async with httpx.AsyncClient(transport=transport) as client:
            for left in "9", "1":
                await client.get("http://here/", headers={"ixbackoff-try": f"n=1, left={left}"})
                limits.append(time_limit())

    asyncio.run(backoff(N3, within=5)(get)())
    assert all(limit is not None for limit in limits)
    first, after, second, last = (limit or 0 for limit in limits)
    assert 4 < last < after < first <= 5
    assert second <= 1
