"""What is different from client to client: bodies, streams, pools, and what is made for them."""

from __future__ import annotations

import asyncio
import gzip
import io
import pickle
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path
from threading import Event
from typing import Any, BinaryIO

import aiohttp
import httpx
import httpx2
import httpx_retries
import pytest
import requests
import urllib3
from requests.adapters import HTTPAdapter

from ixbackoff import (
    N0,
    N3,
    Call,
    CircuitBreaker,
    CircuitOpen,
    DeadlineExceeded,
    Misuse,
    NotReady,
    Stopped,
    answered_by,
    backoff,
)
from ixbackoff.clients import adapter, interceptor, middleware, transport
from ixbackoff.clients.aiohttp_middleware import BROKEN
from ixbackoff.schedules import Constant
from ixbackoff.testing import Virtual, answers
from ixbackoff.testing.web import Late, Origin, Reset, Slow, Status

patiently = backoff(N3, schedule=Constant(0.001))
both = pytest.mark.parametrize("library", [httpx, httpx2], ids=lambda library: library.__name__)


@pytest.fixture
def origin() -> Iterator[Origin]:
    """A server whose first answer is an error."""
    with Origin({"/a": b"acorn"}, {"/a": [Status(503)]}) as origin:
        yield origin


@pytest.fixture
def nuts(tmp_path: Path) -> Iterator[BinaryIO]:
    """A file, of which the first bytes have been read."""
    (tmp_path / "nuts").write_bytes(b"---two acorns")
    with (tmp_path / "nuts").open("rb") as opened:
        opened.seek(3)
        yield opened


@both
def test_one_transport_for_all_clients_of_the_library(library: Any) -> None:
    retrying = transport(patiently)

    async def get(url: str) -> Any:
        async with library.AsyncClient(transport=retrying) as client:
            return await client.get(url)

    for _ in range(2):
        with Origin({"/a": b"acorn"}, {"/a": [Status(503), None, Status(503)]}) as origin:
            with library.Client(transport=retrying) as client:
                assert client.get(f"{origin.url}/a").text == "acorn"
            assert asyncio.run(get(f"{origin.url}/a")).text == "acorn"
            assert len(origin.requests) == 4


@both
def test_another_kind_of_transport_inside(library: Any) -> None:
    statuses = iter([503, 429, 200])
    mocked = library.MockTransport(lambda request: library.Response(next(statuses)))
    with library.Client(transport=transport(patiently, mocked)) as client:
        assert client.get("http://nuts.example/a").status_code == 200
    wrong = transport(patiently, library.AsyncHTTPTransport())
    with (
        library.Client(transport=wrong) as client,
        pytest.raises(Misuse, match="this client needs an HTTPTransport"),
    ):
        client.get("http://nuts.example/a")


@both
def test_a_form_with_files_is_sent_again(library: Any, origin: Origin, nuts: BinaryIO) -> None:
    files = {"one": io.BytesIO(b"walnut"), "two": nuts, "three": b"hazel"}
    with library.Client(transport=transport(patiently)) as client:
        assert client.post(f"{origin.url}/a", files=files, data={"k": "v"}).text != ""
    first, second = origin.requests
    assert first.body == second.body
    assert b"walnut" in first.body


@both
def test_a_file_that_cannot_be_rewound_is_sent_once(library: Any, origin: Origin) -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    with library.Client(transport=transport(patiently)) as client:
        files = {"one": b"nut", "two": Pipe(b"nut")}
        assert client.post(f"{origin.url}/a", files=files).status_code == 503
        assert client.post(f"{origin.url}/a", content=Pipe(b"nut")).status_code == 200
    assert len(origin.requests) == 2


@both
def test_a_stream_is_given_before_its_body(library: Any) -> None:
    slow = {"/a": [Status(503), Slow(0.2, piece=1)]}
    with (
        Origin({"/a": b"acorn"}, slow) as origin,
        library.Client(transport=transport(patiently)) as client,
        client.stream("GET", f"{origin.url}/a") as answer,
    ):
        assert answer.status_code == 200
        assert not answer.is_closed
        assert b"".join(answer.iter_raw()) == b"acorn"


@both
def test_the_last_answer_of_a_stream_can_be_read_raw(library: Any) -> None:
    for body in b"sorry", b"sorry" * 20_000:
        with (
            Origin({}, {"/a": repeat(Status(503, body=body))}) as origin,
            library.Client(transport=transport(patiently)) as client,
            client.stream("GET", f"{origin.url}/a") as answer,
        ):
            assert b"".join(answer.iter_raw()) == body
        assert len(origin.requests) == 4


@both
def test_answers_that_are_given_up_hold_no_connection(library: Any) -> None:
    waiting = backoff(N3, schedule=Constant(0.3))
    inner = library.HTTPTransport(limits=library.Limits(max_connections=1))
    pages = {f"/{number}": b"acorn" for number in range(4)}
    with (
        Origin(pages, {path: [Status(503, body=b"busy")] for path in pages}) as origin,
        library.Client(
            transport=transport(waiting, inner), timeout=library.Timeout(5, pool=0.25)
        ) as client,
        ThreadPoolExecutor(4) as pool,
    ):
        urls = [f"{origin.url}{path}" for path in pages]
        assert [answer.text for answer in pool.map(client.get, urls)] == ["acorn"] * 4
        assert len(origin.requests) == 8
    with Origin({"/a": b"acorn"}, {"/a": [Status(503, body=bytes(100_000))] * 3}) as origin:
        inner = library.HTTPTransport(limits=library.Limits(max_connections=1))
        with library.Client(transport=transport(patiently, inner), timeout=0.5) as client:
            assert client.get(f"{origin.url}/a").text == "acorn"


@both
def test_an_answer_that_a_transport_inside_has_read(library: Any) -> None:
    class Reading(library.HTTPTransport):  # type: ignore[misc]
        def handle_request(self, request: Any) -> Any:
            answer = super().handle_request(request)
            answer.read()
            return answer

    class ReadingAsync(library.AsyncHTTPTransport):  # type: ignore[misc]
        async def handle_async_request(self, request: Any) -> Any:
            answer = await super().handle_async_request(request)
            await answer.aread()
            return answer

    async def get(url: str) -> bytes:
        async with library.AsyncClient(transport=transport(patiently, ReadingAsync())) as client:
            answer = await client.get(url)
            return bytes(answer.content)

    with Origin({}, {"/a": repeat(Status(503, body=b"sorry"))}) as origin:
        with library.Client(transport=transport(patiently, Reading())) as client:
            assert client.get(f"{origin.url}/a").content == b"sorry"
        assert asyncio.run(get(f"{origin.url}/a")) == b"sorry"
        assert len(origin.requests) == 8


@both
@pytest.mark.parametrize("asks", ["Client", "AsyncClient"])
def test_on_can_read_a_short_body(library: Any, asks: str) -> None:
    """The user can, too, and reads it raw."""
    busy = patiently.replace(on=lambda failure: "busy" in failure.response.text)  # type: ignore[attr-defined]

    async def read() -> bytes:
        async with (
            library.AsyncClient(transport=transport(busy)) as client,
            client.stream("GET", f"{server.url}/a") as answer,
        ):
            return b"".join([piece async for piece in answer.aiter_raw()])

    pressed, headers = gzip.compress(b"busy"), {"Content-Encoding": "gzip"}
    zipped = Status(409, headers=headers, body=pressed)
    with Origin({}, {"/a": [zipped, zipped, Status(409, body=b"taken")]}) as server:
        if asks == "AsyncClient":
            assert asyncio.run(read()) == b"taken"
        else:
            with (
                library.Client(transport=transport(busy)) as client,
                client.stream("GET", f"{server.url}/a") as answer,
            ):
                assert b"".join(answer.iter_raw()) == b"taken"
        assert len(server.requests) == 3


@both
def test_nothing_stays_open_if_on_fails(library: Any) -> None:
    def broken(failure: Exception) -> bool:
        raise ArithmeticError

    inner = library.HTTPTransport(limits=library.Limits(max_connections=1))
    used = transport(patiently.replace(on=broken), inner)
    with (
        Origin({}, {"/a": repeat(Status(503, body=bytes(100_000)))}) as origin,
        library.Client(transport=used, timeout=library.Timeout(5, pool=0.25)) as client,
    ):
        for body in b"nut", iter([b"nut"]), iter([b"nut"]):
            with pytest.raises(ArithmeticError):
                client.put(f"{origin.url}/a", content=body)


@both
def test_a_time_out_is_at_most_what_is_left(library: Any) -> None:
    shortly = patiently.replace(within=0.3)
    for timeout in None, 20:
        with (
            Origin({"/a": b"acorn"}, {"/a": repeat(Late(20))}) as origin,
            library.Client(transport=transport(shortly), timeout=timeout) as client,
            pytest.raises(DeadlineExceeded),
        ):
            client.get(f"{origin.url}/a")


def get_with_requests(used: Any, url: str, **options: Any) -> requests.Response:
    with requests.Session() as session:
        session.mount("http://", adapter(used))
        return session.request("PUT" if "data" in options else "GET", url, **options)


@pytest.mark.parametrize("timeout", [None, 20, (20, 20), (20, None)], ids=str)
def test_a_time_out_of_requests_too(timeout: Any) -> None:
    with (
        Origin({"/a": b"acorn"}, {"/a": repeat(Late(20))}) as origin,
        pytest.raises(DeadlineExceeded),
    ):
        get_with_requests(patiently.replace(within=0.3), f"{origin.url}/a", timeout=timeout)


def test_requests_sends_a_file_again_from_where_it_was(origin: Origin, nuts: BinaryIO) -> None:
    get_with_requests(patiently, f"{origin.url}/a", data=nuts)
    assert [request.body for request in origin.requests] == [b"two acorns"] * 2


def test_requests_gives_a_stream_before_its_body() -> None:
    slow = {"/a": [Status(503), Slow(0.1, piece=1)]}
    with Origin({"/a": b"acorn"}, slow) as origin, requests.Session() as session:
        session.mount("http://", adapter(patiently))
        with session.get(f"{origin.url}/a", stream=True) as answer:
            assert answer.raw.read() == b"acorn"


@pytest.mark.parametrize(
    "retries",
    [urllib3.Retry(3), urllib3.Retry(total=None, connect=2), 1],
    ids=["total", "connect", "number"],
)
def test_requests_with_retries_of_urllib3_would_multiply(retries: Any) -> None:
    with pytest.raises(Misuse, match="its retries would multiply"):
        adapter(patiently, HTTPAdapter(max_retries=retries))


def test_requests_without_them_would_not() -> None:
    adapter(patiently, HTTPAdapter(pool_maxsize=20))
    adapter(patiently, HTTPAdapter(max_retries=urllib3.Retry(False)))


@both
def test_retries_inside_a_transport_would_multiply(library: Any) -> None:
    for kind in library.HTTPTransport, library.AsyncHTTPTransport:
        transport(patiently, kind())
        with pytest.raises(Misuse, match="its retries would multiply"):
            transport(patiently, kind(retries=2))


def test_a_transport_of_another_library_that_retries_is_refused() -> None:
    with pytest.raises(Misuse, match="its retries would multiply"):
        transport(patiently, httpx_retries.RetryTransport())


def test_an_adapter_is_called_as_one_of_requests(origin: Origin) -> None:
    asked = requests.Request("GET", f"{origin.url}/a").prepare()
    assert adapter(patiently).send(asked, False, 5).text == "acorn"


def test_a_session_goes_through_pickle(origin: Origin) -> None:
    with requests.Session() as session:
        session.mount("http://", adapter(patiently))
        sent: requests.Session = pickle.loads(pickle.dumps(session))  # noqa: S301  ours
        assert sent.get(f"{origin.url}/a").text == "acorn"
    assert len(origin.requests) == 2


def test_the_last_answer_of_requests_can_be_read_raw() -> None:
    for body in b"sorry", b"sorry" * 20_000:
        with (
            Origin({}, {"/a": repeat(Status(503, body=body))}) as origin,
            requests.Session() as session,
        ):
            session.mount("http://", adapter(patiently))
            with session.get(f"{origin.url}/a", stream=True) as answer:
                assert answer.raw.read() == body
            assert len(origin.requests) == 4


@pytest.mark.parametrize("body", [b"sorry", b"sorry" * 60_000], ids=["short", "long"])
def test_the_last_answer_of_aiohttp_can_be_read_in_pieces(body: bytes) -> None:
    async def read(url: str) -> bytes:
        async with (
            aiohttp.ClientSession(middlewares=[middleware(patiently)]) as session,
            session.get(url) as answer,
        ):
            return b"".join([piece async for piece in answer.content.iter_any()])

    with Origin({}, {"/a": repeat(Status(503, body=body))}) as origin:
        assert asyncio.run(read(f"{origin.url}/a")) == body
        assert len(origin.requests) == 4


def ask_with_aiohttp(used: Any, method: str, url: str, **options: Any) -> int:
    async def ask() -> int:
        async with (
            aiohttp.ClientSession(middlewares=[middleware(used)]) as session,
            session.request(method, url, **options) as answer,
        ):
            return answer.status

    return asyncio.run(ask())


def test_aiohttp_sends_files_and_forms_again(origin: Origin, nuts: BinaryIO) -> None:
    assert ask_with_aiohttp(patiently, "PUT", f"{origin.url}/a", data=nuts) == 204
    assert [request.body for request in origin.requests] == [b"two acorns"] * 2


def test_aiohttp_sends_json_again(origin: Origin) -> None:
    assert ask_with_aiohttp(patiently, "PUT", f"{origin.url}/a", json={"nuts": 2}) == 204
    assert [request.body for request in origin.requests] == [b'{"nuts": 2}'] * 2


def test_requests_after_a_broken_one_of_aiohttp_are_sent() -> None:
    """A request that failed does not stand for the next one of the same task."""

    async def ask(origin: Origin, url: str) -> str:
        async with aiohttp.ClientSession(middlewares=[middleware(patiently)]) as session:
            for method, asked in ("GET", 4), ("GET", 8), ("POST", 9):
                with pytest.raises(aiohttp.ClientOSError):
                    await session.request(method, url)
                assert len(origin.requests) == asked
            async with session.post(url) as answer:
                return await answer.text()

    with Origin({"/a": b"acorn"}, {"/a": [Reset()] * 9}) as origin:
        assert asyncio.run(ask(origin, f"{origin.url}/a")) == "acorn"
        assert len(origin.requests) == 10


@pytest.mark.parametrize("library", [httpx, httpx2, aiohttp], ids=lambda it: it.__name__)
def test_a_cancelled_task_sends_nothing_more(library: Any, origin: Origin) -> None:
    waiting = backoff(N3, schedule=Constant(30))

    async def cancelled() -> None:
        client = (
            aiohttp.ClientSession(middlewares=[middleware(waiting)])
            if library is aiohttp
            else library.AsyncClient(transport=transport(waiting))
        )
        async with client:
            task = asyncio.ensure_future(client.get(f"{origin.url}/a"))
            while not origin.requests:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(cancelled())
    assert len(origin.requests) == 1


def test_nothing_is_imported_before_it_is_needed() -> None:
    code = (
        "import sys\n"
        "import ixbackoff.clients\n"
        "from ixbackoff import N3, backoff\n"
        "ixbackoff.clients.transport(backoff(N3))\n"
        "assert not {'httpx', 'httpx2', 'requests', 'aiohttp', 'grpc'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603


@pytest.mark.parametrize(
    ("made", "package"),
    [(adapter, "requests"), (middleware, "aiohttp"), (interceptor, "grpc")],
    ids=lambda it: str(it),
)
def test_a_missing_library_is_named(
    made: Any, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        ImportError, match=rf"needs {package}: pip install 'ixbackoff\[{package}\]'"
    ):
        made(patiently)


def test_a_script_answers_in_place_of_the_server() -> None:
    answer = httpx.Response(200, text="acorn")
    world = Virtual(Call[Any].handled_by(answers(NotReady(), answer)))
    with httpx.Client(transport=transport(patiently)) as client, answered_by(world.interpreter):
        assert client.get("http://nuts.example/a").text == "acorn"
    assert world.waits == [0.001]


@both
def test_a_stream_that_was_not_sent_for_another_reason(
    library: Any, caplog: pytest.LogCaptureFixture
) -> None:
    breaker = CircuitBreaker(failures=1, within=60, open_for=60)
    guarded = backoff(N0, breaker=breaker)
    with (
        Origin({}, {"/a": [Status(503)]}) as origin,
        library.Client(transport=transport(guarded)) as client,
    ):
        assert client.get(f"{origin.url}/a").status_code == 503
        with pytest.raises(CircuitOpen) as caught:
            client.put(f"{origin.url}/a", content=iter([b"nuts"]))
    assert "stream" not in caplog.text
    assert not any("stream" in note for note in caught.value.__notes__)


@both
def test_a_stream_that_was_not_sent_because_of_a_stop(library: Any) -> None:
    stop = Event()
    stop.set()
    stopped = patiently.replace(stop=stop, on=Exception)
    with library.Client(transport=transport(stopped)) as client, pytest.raises(Stopped) as caught:
        client.put("http://127.0.0.1:9/a", content=iter([b"nuts"]))
    assert not any("stream" in note for note in getattr(caught.value, "__notes__", ()))


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_broken_request_of_aiohttp_is_not_kept(method: str) -> None:
    async def ask(url: str) -> None:
        async with aiohttp.ClientSession(middlewares=[middleware(patiently)]) as session:
            with pytest.raises(aiohttp.ClientOSError):
                await session.request(method, url)
            assert BROKEN.get() is None

    with Origin({"/a": b"acorn"}, {"/a": repeat(Reset())}) as origin:
        asyncio.run(ask(f"{origin.url}/a"))
