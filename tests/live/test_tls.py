"""Downloads over TLS: whom a client trusts, and what it makes of the rest."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

import pytest

from ixbackoff import Download, is_transient
from ixbackoff.testing.web import Origin

from ..support.servers.certificates import self_signed
from ..support.ways.live import SYNC, Way, each_way

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nacorn"


UNTIL_THE_END = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nacorn"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a key and a certificate for 127.0.0.1 that nobody has signed."""
    return self_signed(tmp_path_factory.mktemp("certificate"))


@contextmanager
def answering(certificate: Path, answer_with: bytes = ANSWER, cut: bool = False) -> Generator[str]:
    """Answer one connection over TLS, and give the URL; `cut` ends it without `close_notify`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    def answer() -> None:
        client, _ = listener.accept()
        with client, suppress(OSError), context.wrap_socket(client, server_side=True) as secured:
            secured.recv(4096)
            secured.sendall(answer_with)
            if not cut:
                secured.unwrap()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(5.0)
        thread = Thread(target=answer)
        thread.start()
        yield f"https://127.0.0.1:{listener.getsockname()[1]}/a"
        thread.join()


@each_way
def test_a_certificate_that_is_not_trusted_is_not_worth_another_try(
    way: Way, certificate: Path, tmp_path: Path
) -> None:
    with (
        answering(certificate) as url,
        pytest.raises(ssl.SSLCertVerificationError, match="not trusted: self-signed") as caught,
    ):
        way.perform(Download(url, str(tmp_path / "a")))
    assert not is_transient(caught.value)
    assert list(tmp_path.iterdir()) == []


@each_way
def test_a_certificate_that_the_user_trusts_will_do(
    way: Way, certificate: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with answering(certificate) as url:
        way.perform(Download(url, str(tmp_path / "a")))
    assert (tmp_path / "a").read_bytes() == b"acorn"


@each_way
@pytest.mark.parametrize("cut", [False, True], ids=["announced", "cut"])
@pytest.mark.parametrize("said", [ANSWER, UNTIL_THE_END], ids=["a length", "no length"])
def test_a_body_without_a_length_ends_where_tls_says_so(
    way: Way,
    said: bytes,
    cut: bool,
    certificate: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with answering(certificate, said, cut) as url:
        command = Download(url, str(tmp_path / "a"))
        if cut and said == UNTIL_THE_END:
            with pytest.raises(ConnectionError) as caught:
                way.perform(command)
            assert is_transient(caught.value)
            assert list(tmp_path.iterdir()) == []
        else:
            way.perform(command)
            assert (tmp_path / "a").read_bytes() == b"acorn"


@each_way
def test_a_server_without_tls_is_a_connection_error(way: Way, tmp_path: Path) -> None:
    with Origin({"/a": b"acorn"}) as origin, pytest.raises(ConnectionError):
        way.perform(Download(origin.url.replace("http:", "https:"), str(tmp_path / "a")))
    assert list(tmp_path.iterdir()) == []


def test_a_failure_tells_nothing_of_what_was_being_handled_before(tmp_path: Path) -> None:
    with Origin({}) as origin:
        url = origin.url
    try:
        raise ssl.SSLCertVerificationError("of something else")
    except ssl.SSLCertVerificationError:
        with pytest.raises(ConnectionRefusedError):
            SYNC.perform(Download(url, str(tmp_path / "a")))
