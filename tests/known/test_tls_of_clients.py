"""Clients of the web under TLS: what is about certificates stays so, a cut connection may pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from ixbackoff import known

from ..support.clients.web import CLIENTS, Client
from ..support.servers.certificates import hanging_up, self_signed, untrusted, without_tls

each_client = pytest.mark.parametrize(
    "client", [one for one in CLIENTS if one.library != "http"], ids=lambda client: client.name
)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return self_signed(tmp_path_factory.mktemp("certificate"))


@each_client
def test_a_certificate_that_does_not_verify_is_asked_once(
    client: Client, certificate: Path
) -> None:
    with untrusted(certificate) as server:
        failure = client.fails("GET", server.url)
    assert len(server.came) == 1
    assert known.judge(failure).why.endswith(": the certificate does not verify")


@each_client
def test_a_server_without_tls_is_asked_once(client: Client) -> None:
    with without_tls() as server:
        failure = client.fails("GET", server.url)
    assert len(server.came) == 1
    assert known.judge(failure).why.endswith(": the two sides do not agree on TLS")


@each_client
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_handshake_that_is_cut_off_is_tried_again(client: Client, method: str) -> None:
    with hanging_up() as server:
        failure = client.fails(method, server.url)
    assert len(server.came) == 4
    assert known.judge(failure).transient
