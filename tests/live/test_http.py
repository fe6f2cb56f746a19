"""Downloads over real sockets: what comes, what goes wrong, and what is left behind."""

from __future__ import annotations

import gc
import logging
import re
import socket
import traceback
from base64 import b64encode
from contextlib import suppress
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
import trio

from ixbackoff import (
    N0,
    N3,
    ClientError,
    Download,
    Exponential,
    ServerError,
    Throttled,
    at,
    is_transient,
)
from ixbackoff.live import Limits, RedirectError, TooLarge, live, live_async
from ixbackoff.testing.web import (
    Document,
    Down,
    Dropped,
    Fault,
    Hang,
    Malformed,
    Origin,
    Redirect,
    Reset,
    Slow,
    Status,
    Truncated,
)

from ..support.ways.live import QUICK, SECRETS, Way, each_async_way, each_way, with_secrets

ACORN = bytes(range(256)) * 2000
CHUNKS = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"2000\r\n%b\r\n" * 4 % (
    (b"x" * 0x2000,) * 4
)

NEW_YEAR = "Fri, 01 Jan 2038 00:00:00 GMT"

OUTCOMES: list[tuple[Fault, type[Exception], str]] = [
    (Status(408), ServerError, "408"),
    (Status(425), ServerError, "425"),
    (Status(500), ServerError, "500"),
    (Status(503), ServerError, "503"),
    (Status(429), Throttled, "throttled"),
    (Status(400), ClientError, "400"),
    (Status(401), ClientError, "401"),
    (Status(404), ClientError, "404"),
    (Status(300), RedirectError, "answered 300, a choice between several targets"),
    (Status(301), RedirectError, "answered 301, a redirect without a target"),
    (Status(304), RedirectError, "answered 304, which was not asked for"),
    (Status(305, headers={"Location": "/a"}), RedirectError, "answered 305, which is not followed"),
    (Redirect("/a"), RedirectError, "more than 10 redirects"),
    (Redirect("ftp://localhost/a"), ValueError, "it redirects to a URL with the scheme 'ftp'"),
    (Redirect("file:///etc/passwd"), ValueError, "it redirects to a URL with the scheme 'file'"),
    (Reset(), ConnectionResetError, "reset"),
    (Reset(0), ConnectionResetError, "reset"),
    (Reset(1000), ConnectionResetError, "reset"),
    (Truncated(0), ConnectionError, "broke off"),
    (Truncated(len(ACORN) - 1), ConnectionError, "broke off"),
    (Dropped(), ConnectionError, "broke off"),
    (Down(0.05), ConnectionError, "broke off"),
    (Malformed(), ConnectionError, "it is not HTTP"),
    (Malformed(b"HTTP/1.1 206 Part\r\nContent-Length: 1\r\n\r\na"), ConnectionError, "206"),
    (Malformed(CHUNKS), ConnectionError, "broke off"),
    (Slow(5.0, 1000), TimeoutError, "nothing arrived for 0.2 s"),
    (Hang(), TimeoutError, "nothing arrived for 0.2 s"),
]


@each_way
@pytest.mark.parametrize(("fault", "failure", "words"), OUTCOMES, ids=lambda it: repr(it)[:40])
def test_a_fault_comes_out_as_its_failure(
    way: Way, fault: Fault, failure: type[Exception], words: str, tmp_path: Path
) -> None:
    with (
        Origin({"/a": Document(ACORN, etag=None)}, {"GET /a": repeat(fault)}) as origin,
        pytest.raises(failure, match=words) as caught,
    ):
        way.perform(Download(with_secrets(origin.url, "/a"), str(tmp_path / "a")))
    assert list(tmp_path.iterdir()) == []
    passes = failure not in (ClientError, RedirectError, ValueError)
    assert is_transient(caught.value) == passes
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert not [secret for secret in SECRETS if secret in shown]
    assert f"{origin.url}/a" in shown


@each_way
@pytest.mark.parametrize("status", [429, 503])
def test_what_the_server_asks_is_carried(way: Way, status: int, tmp_path: Path) -> None:
    script: list[Fault] = [
        Status(status, retry_after=7),
        Status(status, datetime(2038, 1, 1, 0, 0, 30, tzinfo=UTC), headers={"Date": NEW_YEAR}),
        Status(status, timedelta(seconds=12)),
        Status(status, "later"),
        Status(status),
    ]
    asked: list[float | None] = []
    with Origin({"/a": ACORN}, {"GET /a": script}) as origin:
        for _ in script:
            with pytest.raises((Throttled, ServerError)) as caught:
                way.perform(Download(f"{origin.url}/a", str(tmp_path / "a")))
            asked.append(caught.value.retry_after)
    assert asked == [7.0, 30.0, 12.0, None, None]


@each_way
def test_a_download_is_whole_and_shows_its_progress(way: Way, tmp_path: Path) -> None:
    target = tmp_path / "a"
    target.write_bytes(b"what stood there before")
    seen: list[tuple[Download, int, int | None]] = []
    with Origin({"/a": ACORN}) as origin:
        command = Download(f"{origin.url}/a", str(target))
        way.perform(command, progress=lambda *told: seen.append(told))
    assert target.read_bytes() == ACORN
    assert list(tmp_path.iterdir()) == [target]
    assert seen[0] == (command, 0, len(ACORN))
    assert seen[-1] == (command, len(ACORN), len(ACORN))
    assert [received for _, received, _ in seen] == sorted({received for _, received, _ in seen})


@each_way
def test_without_a_length_the_total_is_not_known(way: Way, tmp_path: Path) -> None:
    totals: list[int | None] = []
    whole = Malformed(CHUNKS + b"0\r\n\r\n")
    with Origin({"/a": ACORN}, {"GET /a": [whole]}) as origin:
        way.perform(
            Download(f"{origin.url}/a", str(tmp_path / "a")),
            progress=lambda _, __, total: totals.append(total),
        )
    assert set(totals) == {None}
    assert (tmp_path / "a").read_bytes() == b"x" * 0x8000


@each_way
@pytest.mark.parametrize(
    ("place", "whole"),
    [("0-4/5", True), ("0-4/500", False), ("5-9/10", False), ("0-4/*", False), ("", False)],
)
def test_a_range_is_not_kept_as_the_whole(
    way: Way, place: str, whole: bool, tmp_path: Path
) -> None:
    resource = Document(b"acorn", headers={"Content-Range": f"bytes {place}"})
    with Origin({"/a": resource}) as origin:
        command = Download(f"{origin.url}/a", str(tmp_path / "a"))
        if whole:
            way.perform(command)
        else:
            with pytest.raises(ConnectionError, match="the server sent a range as the whole"):
                way.perform(command)
    assert [path.name for path in tmp_path.iterdir()] == ["a"] * whole


@each_way
def test_an_encoded_body_is_kept_as_it_came(way: Way, tmp_path: Path) -> None:
    encoded = Malformed(
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nacor"
    )
    with Origin({"/a": ACORN}, {"GET /a": [encoded]}) as origin:
        way.perform(Download(f"{origin.url}/a", str(tmp_path / "a")))
    assert (tmp_path / "a").read_bytes() == b"acor"
    assert origin.requests[0].headers["accept-encoding"] == "identity"


@each_way
def test_redirects_are_followed_up_to_the_limit(way: Way, tmp_path: Path) -> None:
    hops = {f"GET /{n}": repeat(Redirect(f"/{n + 1}")) for n in range(3)}
    with Origin({"/3": ACORN}, hops) as origin:
        command = Download(f"{origin.url}/0", str(tmp_path / "a"))
        way.perform(command, limits=replace(QUICK, max_redirects=3))
        with pytest.raises(RedirectError, match="more than 2 redirects"):
            way.perform(command, limits=replace(QUICK, max_redirects=2))
    assert (tmp_path / "a").read_bytes() == ACORN


@each_way
def test_cookies_last_for_the_redirects_of_one_command(way: Way, tmp_path: Path) -> None:
    head = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nSet-Cookie: acorn=1\r\nLocation: /b\r\n\r\n"
    with Origin({"/b": ACORN}, {"GET /a": [Malformed(head)]}) as origin:
        first, second = (
            Download(f"{origin.url}/{name}", str(tmp_path / name)) for name in ("a", "b")
        )
        way.run(at(N0).do(first) >> at(N0).do(second))
    sent = [request.headers.get("cookie") for request in origin.requests]
    assert sent == [None, "acorn=1", None]


@each_way
def test_certificates_are_read_for_https_alone(
    way: Way, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "missing"))
    with Origin({"/a": ACORN}) as origin:
        way.perform(Download(f"{origin.url}/a", str(tmp_path / "a")))
        secure = Download(origin.url.replace("http:", "https:") + "/a", str(tmp_path / "a"))
        with pytest.raises(FileNotFoundError):
            way.perform(secure)


@each_way
def test_a_closed_port_is_a_refused_connection(way: Way, tmp_path: Path) -> None:
    with socket.socket() as placeholder:  # bound and not listening
        placeholder.bind(("127.0.0.1", 0))
        port = placeholder.getsockname()[1]
        for host in ("127.0.0.1", "localhost"):
            with pytest.raises(ConnectionRefusedError, match="refused"):
                way.perform(Download(f"http://{host}:{port}/a", str(tmp_path / "a")))
    assert list(tmp_path.iterdir()) == []


@each_way
@pytest.mark.parametrize(
    ("limits", "failure", "words"),
    [
        (replace(QUICK, max_size=len(ACORN) - 1), TooLarge, f"limit is {len(ACORN) - 1}"),
        (replace(QUICK, total_timeout=0.01), TimeoutError, "not done within 0.01 s"),
    ],
)
def test_a_download_keeps_to_its_limits(
    way: Way, limits: Limits, failure: type[Exception], words: str, tmp_path: Path
) -> None:
    with (
        Origin({"/a": ACORN}, {"GET /a": repeat(Slow(0.02, 1000))}) as origin,
        pytest.raises(failure, match=words),
    ):
        way.perform(Download(f"{origin.url}/a", str(tmp_path / "a")), limits=limits)
    assert list(tmp_path.iterdir()) == []


@each_way
def test_a_size_that_is_not_announced_is_limited_too(way: Way, tmp_path: Path) -> None:
    limits = replace(QUICK, max_size=5000)
    with (
        Origin({"/a": ACORN}, {"GET /a": [Malformed(CHUNKS)]}) as origin,
        pytest.raises(TooLarge),
    ):
        way.perform(Download(f"{origin.url}/a", str(tmp_path / "a")), limits=limits)
    assert list(tmp_path.iterdir()) == []


def test_a_download_that_ends_early_leaves_trio_nothing_to_complain_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[object] = []
    monkeypatch.setattr("sys.unraisablehook", left.append)

    async def ended_early() -> None:
        with suppress(TooLarge):
            await at(N0).do(command).run_async(live_async(limits=replace(QUICK, max_size=5000)))
        gc.collect()

    with Origin({"/a": ACORN}, {"GET /a": [Malformed(CHUNKS)]}) as origin:
        command = Download(f"{origin.url}/a", str(tmp_path / "a"))
        trio.run(ended_early)
    assert left == []


@each_way
@pytest.mark.parametrize(
    "url",
    [
        "ftp://localhost/a",
        "file:///etc/passwd",
        "/a",
        "",
        "http:///a",
        "http://[::1/a",
        "http://a\n",
        "//sesame:opensaysme@localhost/a",
        "sesame:opensaysme@localhost/a",
        "http:/sesame:opensaysme@localhost/a",
        "http://sesame:opens?aysme@localhost/a",
        "http://sesame:opens#aysme@localhost/a",
        "http://sesame:opens/aysme@localhost/a",
    ],
)
def test_what_is_not_a_web_address_is_refused_before_anything_is_opened(
    way: Way, url: str, tmp_path: Path
) -> None:
    command = Download(url, str(tmp_path / "no folder" / "a"))
    for ask in (lambda: way.perform(command), lambda: way.headers(url)):
        with pytest.raises(ValueError, match=r"give http://host/path or https://") as caught:
            ask()
        shown = "".join(traceback.format_exception(caught.value))
        assert not [secret for secret in ("sesame", "opens", "aysme") if secret in shown]


@each_way
def test_credentials_are_used_and_never_shown(
    way: Way, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    elsewhere = Origin({"/b": ACORN})
    with elsewhere, Origin({"/a": ACORN, "/b": b""}) as origin:
        origin.script("GET /a", [Redirect("/b"), Redirect(f"{elsewhere.url}/b")])
        for _ in range(3):
            way.perform(Download(with_secrets(origin.url, "/a"), str(tmp_path / "a")))
    basic = "Basic " + b64encode(b"sesame:opensaysme").decode()
    assert {request.headers.get("authorization") for request in origin.requests} == {basic}
    assert {request.headers.get("authorization") for request in elsewhere.requests} == {None}
    assert origin.requests[0].target == "/a?token=hush"
    assert caplog.records
    assert not [secret for secret in SECRETS if secret in caplog.text]


@each_way
def test_the_proxies_of_the_usual_variables_are_used(
    way: Way, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with Origin({"http://nuts.example/a": ACORN, "/b": b"b"}) as proxy:
        for address in (proxy.url, proxy.url.removeprefix("http://")):
            monkeypatch.setenv("http_proxy", address.replace("127.0", "sesame:opensaysme@127.0", 1))
            way.perform(Download("http://nuts.example/a", str(tmp_path / "a")))
            way.perform(Download(f"{proxy.url}/b", str(tmp_path / "b")))
    assert (tmp_path / "a").read_bytes() == ACORN
    basic = "Basic " + b64encode(b"sesame:opensaysme").decode()
    given = [request.headers.get("proxy-authorization") for request in proxy.requests]
    assert given == [basic, None] * 2


@each_way
def test_a_proxy_that_refuses_is_told_without_its_password(
    way: Way, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Origin({}, {"CONNECT nuts.example:443": [Status(407)]}) as proxy:
        monkeypatch.setenv("https_proxy", proxy.url.replace("127.0", "sesame:opensaysme@127.0", 1))
        with pytest.raises(ConnectionError, match="the proxy refuses") as caught:
            way.perform(Download("https://nuts.example/a", str(tmp_path / "a")))
    shown = "".join(traceback.format_exception(caught.value))
    assert not [secret for secret in SECRETS if secret in shown]


@pytest.mark.skipif(find_spec("socksio") is not None, reason="SOCKS proxies can be used")
@pytest.mark.parametrize("scheme", ["socks5", "socks5h"])
@each_way
def test_a_socks_proxy_names_the_package_that_is_missing(
    way: Way, scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("all_proxy", f"{scheme}://sesame:opensaysme@localhost")
    with pytest.raises(ImportError) as caught:
        way.perform(Download("http://nuts.example/a", str(tmp_path / "a")))
    message = f"the proxy {scheme}://localhost needs socksio: pip install socksio"
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("proxy", "message"),
    [
        ("http://sesame:opensaysme@localhost:99999", "http://localhost:99999: 99999 is not a port"),
        ("ftp://sesame:opensaysme@localhost", "ftp://localhost: give a URL such as http://host"),
        ("http://[::1", "http://[::1: give a URL such as http://host:port."),
    ],
)
@each_way
def test_the_url_of_a_proxy_is_checked(
    way: Way, proxy: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    with pytest.raises(ValueError, match=re.escape(f"the proxy {message}")):
        way.perform(Download("http://nuts.example/a", str(tmp_path / "a")))


@each_way
def test_headers_are_asked_for_without_the_body(way: Way) -> None:
    resources: dict[str, bytes | Document] = {
        "/a": ACORN,
        "/odd": Document(ACORN, etag="W/not quoted"),
        "/none": Document(ACORN, etag=None),
    }
    with Origin(resources, {"HEAD /moved": repeat(Redirect("/odd"))}) as origin:
        assert re.fullmatch('"[0-9a-f]{16}"', way.headers(f"{origin.url}/a")["etag"])
        assert way.headers(f"{origin.url}/moved")["ETag"] == "W/not quoted"
        assert "ETag" not in way.headers(f"{origin.url}/none")
        with pytest.raises(ClientError):
            way.headers(f"{origin.url}/missing")
    assert origin.counts["HEAD /odd"] == 1
    assert {request.method for request in origin.requests} == {"HEAD"}


def test_a_ladder_gets_over_every_fault(tmp_path: Path) -> None:
    script: list[Fault] = [Down(0.02), Reset(1000), Truncated(1000), Status(503, retry_after=0.02)]
    with Origin({"/a": ACORN}, {"GET /a": script}) as origin:
        copy = at(N3).retry(Download(f"{origin.url}/a", str(tmp_path / "a")))
        with pytest.raises(ServerError):
            copy.run(live(), schedule=Exponential(base=0.05))
        copy.run(live(), schedule=Exponential(base=0.05))
    assert (tmp_path / "a").read_bytes() == ACORN
    assert origin.counts["GET /a"] == 5


@each_async_way
@pytest.mark.parametrize("fault", [Slow(0.01, 5000), Hang()], ids=["mid-body", "no answer"])
def test_a_cancelled_download_leaves_nothing(way: Way, fault: Fault, tmp_path: Path) -> None:
    part = tmp_path / ".a.part"

    def under_way() -> bool:
        return (
            bool(origin.requests)
            and part.exists()
            and (isinstance(fault, Hang) or part.stat().st_size > 0)
        )

    with Origin({"/a": Document(ACORN, etag=None)}, {"GET /a": [fault]}) as origin:
        way.cancelled(Download(f"{origin.url}/a", str(tmp_path / "a")), under_way)
        assert list(tmp_path.iterdir()) == []


@each_way
@pytest.mark.parametrize("error", [KeyboardInterrupt, KeyError])
def test_what_interrupts_a_download_leaves_nothing(
    way: Way, error: type[BaseException], tmp_path: Path
) -> None:
    def progress(_: Download, received: int, __: int | None) -> None:
        if received > 5000:
            raise error

    with Origin({"/a": Document(ACORN, etag=None)}) as origin, pytest.raises(error):
        way.perform(Download(f"{origin.url}/a", str(tmp_path / "a")), progress=progress)
    assert list(tmp_path.iterdir()) == []


def test_limits_are_checked() -> None:
    for wrong in (0, -1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="read_timeout"):
            Limits(read_timeout=wrong)
    unusable: list[Any] = [2.5, float("inf"), float("nan"), True, "5"]
    for name, least in {"max_size": 0, "max_redirects": 0, "connections": 1}.items():
        for wrong in (least - 1, *unusable):
            with pytest.raises(ValueError, match=f"{name}=.*: give a whole number, {least} or"):
                Limits(**{name: wrong})
    nothing: Any = None
    for name in {field.name for field in fields(Limits)} - {"max_size", "addresses"}:
        with pytest.raises(ValueError, match=f"{name}=None"):
            Limits(**{name: nothing})
