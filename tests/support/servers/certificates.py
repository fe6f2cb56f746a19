"""Certificates for servers on loopback, and servers that fail before or under TLS."""

from __future__ import annotations

import socket
import ssl
import struct
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from threading import Thread
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def self_signed(folder: Path) -> Path:
    """Make a file with a key and a self-signed certificate for 127.0.0.1."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "origin")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "origin.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return path


class Secured(NamedTuple):
    """A server that should speak TLS: its URL, and a mark for each client that came."""

    url: str
    came: list[int]


@contextmanager
def untrusted(certificate: Path) -> Generator[Secured]:
    """Start a server whose certificate no client trusts."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    def meet(client: socket.socket) -> None:
        with context.wrap_socket(client, server_side=True) as secured:
            secured.recv(4096)

    with meeting(meet) as server:
        yield server


@contextmanager
def speaking(certificate: Path, answer: bytes) -> Generator[Secured]:
    """Start a server that gives the same answer to every request."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    def meet(client: socket.socket) -> None:
        with context.wrap_socket(client, server_side=True) as secured:
            while secured.recv(4096):
                secured.sendall(answer)

    with meeting(meet) as server:
        yield server


@contextmanager
def hanging_up() -> Generator[Secured]:
    """Start a server that ends the connection in the middle of the handshake."""
    with meeting(lambda client: client.recv(4096)) as server:
        yield server


@contextmanager
def resetting() -> Generator[Secured]:
    """Start a server without TLS that resets each connection when a request begins to come."""

    def meet(client: socket.socket) -> None:
        client.recv(1)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    with meeting(meet) as server:
        yield server._replace(url=server.url.replace("https:", "http:"))


@contextmanager
def without_tls() -> Generator[Secured]:
    """Start a server that speaks plain HTTP."""
    plain = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"

    def meet(client: socket.socket) -> None:
        client.recv(4096)
        client.sendall(plain)

    with meeting(meet) as server:
        yield server


@contextmanager
def meeting(meet: Callable[[socket.socket], object]) -> Generator[Secured]:
    came: list[int] = []

    def listen() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                came.append(1)
                with client, suppress(OSError):
                    client.settimeout(5.0)
                    meet(client)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=listen)
        thread.start()
        try:
            yield Secured(f"https://127.0.0.1:{listener.getsockname()[1]}/a", came)
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
