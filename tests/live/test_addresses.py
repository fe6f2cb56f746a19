"""Where a request may go: ports, redirects, schemes and the addresses that it is sent to."""

from __future__ import annotations

import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import Download, is_transient
from ixbackoff.live import Limits, RedirectError, public_only, s3_store
from ixbackoff.testing.web import Malformed, Origin, Redirect, Status

from ..support.servers.certificates import self_signed, speaking
from ..support.ways.live import QUICK, Way, each_way

LOOPBACK = IPv4Address("127.0.0.1")


@each_way
@pytest.mark.parametrize("port", [0, 65536, 100891])
def test_a_port_that_does_not_exist_is_refused(way: Way, port: int, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"{port} is not a port: give one from 1 to 65535"):
        way.perform(Download(f"http://127.0.0.1:{port}/a", str(tmp_path / "a")))
    with (
        Origin({}, {"GET /a": [Redirect(f"http://127.0.0.1:{port}/a")]}) as origin,
        pytest.raises(ValueError, match=f"{port} is not a port"),
    ):
        way.perform(Download(f"{origin.url}/a", str(tmp_path / "a")))
    with pytest.raises(ValueError, match=f"{port} is not a port"):
        s3_store("bucket", endpoint=f"http://127.0.0.1:{port}")


@each_way
@pytest.mark.parametrize("host", ["a" * 64, ".a", "a..b", "a" * 300])
def test_a_host_that_is_not_a_name_is_refused(way: Way, host: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is not a valid name"):
        way.headers(f"http://{host}/a")
    with (
        Origin({}, {"GET /a": [Redirect(f"http://{host}/a")]}) as origin,
        pytest.raises(ValueError, match=f"{origin.port}/a: its host, or that of a redirect, is"),
    ):
        way.perform(Download(f"{origin.url}/a", str(tmp_path / "a")))
    with pytest.raises(socket.gaierror, match="cannot find its host"):
        way.headers("http://nuts.invalid./a")


@each_way
@pytest.mark.parametrize("location", ["/b?c=d", "b", "?mail=me@x", "//{place}/b", "#c"])
def test_a_relative_redirect_begins_at_the_url_that_was_asked_for(
    way: Way, location: str, tmp_path: Path
) -> None:
    with Origin({"/a": b"a", "/b": b"b"}) as origin:
        place = f"{origin.host}:{origin.port}"
        origin.script("GET /a", [Redirect(location.format(place=place))])
        way.perform(Download(f"http://me:hush@{place}/a?mail=me@x", str(tmp_path / "a")))
    wanted = {"/b?c=d": "/b?c=d", "?mail=me@x": "/a?mail=me@x", "#c": "/a?mail=me@x"}
    assert [request.target for request in origin.requests] == [
        "/a?mail=me@x",
        wanted.get(location, "/b"),
    ]


@each_way
@pytest.mark.parametrize("location", ["/b", "b", "?c"])
def test_also_where_that_is_hidden_as_a_whole(way: Way, location: str, tmp_path: Path) -> None:
    with Origin({"/": b"a", "/b": b"b"}) as origin:
        origin.script("GET /", [Redirect(location)])
        way.perform(Download(f"{origin.url}?mail=me@x", str(tmp_path / "a")))
    assert origin.requests[1].target == ("/?c" if location == "?c" else "/b")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return self_signed(tmp_path_factory.mktemp("certificate"))


@each_way
def test_from_https_it_does_not_go_on_in_the_clear(
    way: Way, certificate: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with Origin({"/a": b"acorn"}) as origin:
        answer = f"HTTP/1.1 302 Moved\r\nLocation: {origin.url}/a\r\nContent-Length: 0\r\n\r\n"
        with speaking(certificate, answer.encode()) as server:
            command = Download(server.url, str(tmp_path / "a"))
            with pytest.raises(RedirectError, match=r"from https to http.*insecure_redirects=True"):
                way.perform(command)
            assert origin.requests == []
            way.perform(command, limits=replace(QUICK, insecure_redirects=True))
    assert (tmp_path / "a").read_bytes() == b"acorn"


@contextmanager
def named(monkeypatch: pytest.MonkeyPatch, **hosts: list[str]) -> Generator[None]:
    """Let names stand for these addresses."""
    look_up = socket.getaddrinfo

    def found(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        addresses = hosts.get(str(name).partition(".")[0], [name])
        return [each for one in addresses for each in look_up(one, port, *rest, **more)]

    with monkeypatch.context() as patched:
        patched.setattr(socket, "getaddrinfo", found)
        yield


PRIVATE = replace(QUICK, addresses=public_only)


@each_way
@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "nut.example"]
)
def test_an_address_that_is_not_allowed_is_not_connected_to(
    way: Way, host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Origin({"/a": b"acorn"}) as origin, named(monkeypatch, nut=["127.0.0.1"]):
        command = Download(f"http://{host}:{origin.port}/a", str(tmp_path / "a"))
        with pytest.raises(PermissionError, match=r"does not allow") as caught:
            way.perform(command, limits=PRIVATE)
        with pytest.raises(PermissionError):
            way.headers(command.url, limits=PRIVATE)
    assert not is_transient(caught.value)
    assert origin.requests == []
    assert list(tmp_path.iterdir()) == []


@each_way
def test_a_redirect_to_an_address_that_is_not_allowed_is_not_followed(
    way: Way, tmp_path: Path
) -> None:
    asked: list[object] = []

    def first_only(address: IPv4Address | IPv6Address) -> bool:
        asked.append(address)
        return len(asked) == 1

    limits = replace(QUICK, addresses=first_only)
    with Origin({"/a": b"acorn"}) as inner, Origin({}) as outer:
        outer.script("GET /a", [Redirect(f"{inner.url}/a")])
        with pytest.raises(PermissionError, match="does not allow"):
            way.perform(Download(f"{outer.url}/a", str(tmp_path / "a")), limits=limits)
    assert asked == [LOOPBACK, LOOPBACK]
    assert inner.requests == []


@each_way
def test_of_the_addresses_of_a_name_those_that_are_allowed_are_used(
    way: Way, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = replace(QUICK, addresses=lambda address: address == LOOPBACK)
    with (
        Origin({"/a": b"acorn"}) as origin,
        named(monkeypatch, nut=["127.0.0.2", "127.0.0.1", "127.0.0.3"]),
    ):
        url = f"http://nut.example:{origin.port}/a"
        way.perform(Download(url, str(tmp_path / "a")), limits=limits)
    assert (tmp_path / "a").read_bytes() == b"acorn"


@each_way
def test_a_proxy_would_hide_the_address_so_it_is_refused(
    way: Way, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = replace(QUICK, addresses=lambda address: True)
    with Origin({"http://nuts.example/a": b"acorn"}) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        with pytest.raises(PermissionError, match="cannot check the connections of a proxy"):
            way.perform(Download("http://nuts.example/a", str(tmp_path / "a")), limits=everything)
    assert proxy.requests == []


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1::1", True),
        ("64:ff9b::808:808", True),
        ("10.0.0.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),  # noqa: S104
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("::", False),
        ("::1", False),
        ("fe80::1", False),
        ("fd00::1", False),
        ("ff02::1", False),
        ("::ffff:10.0.0.1", False),
        ("::127.0.0.1", False),
        ("64:ff9b::a00:1", False),
        ("2002:a00:1::1", False),
        ("2001:0:a00:1::f5ff:fffe", False),
        ("fec0::1", False),
        ("feff:ffff::1", False),
        ("64:ff9b:1::808:808", False),
        ("::ffff:0:808:808", False),
        ("::8.8.8.8", False),
        ("100::1", False),
        ("4000::1", False),
        ("5f00::1", False),
        ("3fff::1", False),
        ("3fff:fff:ffff::1", False),
        ("3fff:1000::1", True),
        ("2001:db8::1", False),
        ("2001:20::1", False),
        ("2001:200::1", True),
        ("2002:808:808::1", True),
        ("2002:c058:6301::1", False),
        ("fe80::1%1", False),
        ("192.88.99.1", False),
        ("192.88.98.255", True),
        ("192.0.0.9", False),
        ("192.0.0.192", False),
        ("100.100.100.200", False),
        ("168.63.129.16", False),
        ("64:ff9b::a83f:8110", False),
        ("198.19.255.255", False),
        ("203.0.113.1", False),
        ("240.0.0.1", False),
    ],
)
def test_public_addresses(address: str, public: bool) -> None:
    assert public_only(ip_address(address)) is public


@given(st.ip_addresses())
def test_law_what_this_version_of_python_does_not_call_global_is_not_public(
    address: IPv4Address | IPv6Address,
) -> None:
    if isinstance(address, IPv6Address):  # versions differ over one that embeds an IPv4 address
        address = address.ipv4_mapped or address.sixtofour or address
    if public_only(address):
        assert address.is_global
        assert not address.is_multicast


@each_way
@pytest.mark.parametrize("status", [202, 204, 205])
def test_an_answer_without_content_is_not_kept_as_an_empty_copy(
    way: Way, status: int, tmp_path: Path
) -> None:
    answer = Malformed(f"HTTP/1.1 {status} Well\r\nContent-Length: 0\r\n\r\n".encode())
    with Origin({"/a": b"acorn"}, {"GET /a": [answer], "HEAD /a": [Status(204)]}) as origin:
        with pytest.raises(Exception, match=f"answered {status}") as caught:
            way.perform(Download(f"{origin.url}/a", str(tmp_path / "a")))
        assert way.headers(f"{origin.url}/a")
    assert is_transient(caught.value) == (status == 202)
    assert list(tmp_path.iterdir()) == []


wrong: Any = "public"


@pytest.mark.parametrize(
    "make", [lambda: Limits(addresses=wrong), lambda: Limits(insecure_redirects=wrong)]
)
def test_limits_of_addresses_are_checked(make: Callable[[], Limits]) -> None:
    with pytest.raises(ValueError, match=r"'public'"):
        make()


@each_way
@pytest.mark.parametrize("number", [socket.EAI_NONAME, socket.EAI_AGAIN])
def test_only_a_look_up_that_failed_is_tried_again(
    way: Way, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(number, "the reason")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(socket.gaierror, match="cannot find its host: the reason") as caught:
        way.perform(Download("http://nut.example/a", str(tmp_path / "a")))
    assert caught.value.errno == number
    assert is_transient(caught.value) == (number == socket.EAI_AGAIN)
