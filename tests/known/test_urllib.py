"""Failures of the standard library: `urllib`, `http.client`, `socket` and `ssl`."""

from __future__ import annotations

import http.client
import socket
import ssl
import urllib.error
from email.message import Message
from itertools import repeat
from pathlib import Path
from urllib.request import urlopen, urlretrieve

import pytest

from ixbackoff import N3, backoff, is_transient, known
from ixbackoff.schedules import Constant
from ixbackoff.testing.web import Origin, Truncated

patiently = backoff(N3, schedule=Constant(0.001))


def test_of_ssl_only_a_connection_that_was_cut_may_pass() -> None:
    kinds = {kind for kind in vars(ssl).values() if isinstance(kind, type)}
    errors = [kind for kind in kinds if issubclass(kind, ssl.SSLError)]
    assert len(errors) >= 7
    passing = {kind for kind in errors if is_transient(kind())}
    assert passing == {ssl.SSLEOFError, ssl.SSLZeroReturnError}
    assert known.judge(ssl.SSLCertVerificationError()).why == (
        "ssl.SSLCertVerificationError is not known to pass by itself"
    )


def test_of_look_ups_only_one_that_says_so_may_pass() -> None:
    codes = [code for name, code in vars(socket).items() if name.startswith("EAI_")]
    passing = {code for code in codes if is_transient(socket.gaierror(code, ""))}
    assert passing == {socket.EAI_AGAIN}
    assert known.judge(socket.gaierror(socket.EAI_NONAME, "")).why == (
        "socket.gaierror is not known to pass by itself"
    )
    assert not is_transient(socket.herror())


def test_of_http_client_a_lost_connection_of_unknown_origin_may_pass() -> None:
    kinds = [getattr(http.client, name) for name in http.client.__all__]
    errors = [
        kind
        for kind in kinds
        if isinstance(kind, type) and issubclass(kind, http.client.HTTPException)
    ]
    assert len(errors) >= 13
    assert {kind for kind in errors if is_transient(kind(""))} == {http.client.RemoteDisconnected}


@pytest.mark.parametrize(
    ("reason", "passes"),
    [
        (ConnectionRefusedError(), True),
        (socket.gaierror(socket.EAI_AGAIN, ""), True),
        (socket.gaierror(socket.EAI_NONAME, ""), False),
        (ssl.SSLCertVerificationError(), False),
        (ConnectionResetError(), False),
        (TimeoutError(), False),
        (FileNotFoundError(), False),
        ("unknown url type: hush", False),
    ],
    ids=repr,
)
def test_a_url_error_made_by_hand(reason: Exception | str, passes: bool) -> None:
    verdict = known.judge(urllib.error.URLError(reason))
    assert verdict.transient == passes
    assert verdict.why.startswith("" if passes else "urllib.error.URLError")
    assert "hush" not in verdict.why


def test_a_status_made_by_hand() -> None:
    for status, passes in ((503, True), (500, False), (404, False)):
        with urllib.error.HTTPError("http://nuts.example", status, "", Message(), None) as failure:
            assert is_transient(failure) == passes


@pytest.mark.parametrize("url", ["nuts://nuts.example/a", "file:///hush/hush", "http:///a"])
def test_a_wrong_url_is_asked_once(url: str) -> None:
    asked: list[str] = []

    @patiently
    def get() -> object:
        asked.append(url)
        return urlopen(url)  # noqa: S310

    with pytest.raises(urllib.error.URLError):
        get()
    assert len(asked) == 1


@pytest.mark.parametrize(("data", "asked"), [(None, 4), (b"two acorns", 1)])
def test_a_download_that_breaks_off(data: bytes | None, asked: int, tmp_path: Path) -> None:
    with Origin({"/a": b"acorn"}, {"/a": repeat(Truncated(after=2))}) as origin:
        ask = patiently(lambda: urlretrieve(f"{origin.url}/a", tmp_path / "a", data=data))  # noqa: S310
        with pytest.raises((urllib.error.ContentTooShortError, http.client.IncompleteRead)):
            ask()
        assert len(origin.requests) == asked
