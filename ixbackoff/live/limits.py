"""The limits of live commands: their time-outs, the size of downloads and the redirects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from math import isfinite
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of live commands.

    >>> Limits(read_timeout=5.0).connect_timeout
    10.0

    Attributes:
        connect_timeout: seconds to open a connection to one address of a host.
        read_timeout: seconds without a byte from a web server.
        part_timeout: seconds for one request to an object store, which has at most 5 MiB of data.
        total_timeout: seconds for a whole download or upload, or for a `HEAD` request; if the
            program has less time left (`within`, `.limit`), that counts.
        max_size: bytes of a download; with `None`, the default, as many as the disk takes.
        max_redirects: redirects that one request follows.
        connections: exchanges with one host at the same time, over the same `Connections`.
        addresses: a function from an address of `ipaddress` to a `bool`, true if a connection to it
            may be opened; `public_only` is one. By default every address is allowed. It is asked
            about the very address that a download or a `HEAD` request is about to connect to, also
            after redirects, so no name gets around it. Proxies are not used then: they would look
            the names up themselves.
        insecure_redirects: follow a redirect from `https://` to `http://`.

    Raises:
        ValueError: a time-out is not a finite number above 0, or another limit is negative or of
            another kind.
    """

    connect_timeout: float = 10.0
    read_timeout: float = 30.0
    part_timeout: float = 120.0
    total_timeout: float = 3600.0
    max_size: int | None = None
    max_redirects: int = 10
    connections: int = 16
    addresses: Callable[[IPv4Address | IPv6Address], bool] | None = None
    insecure_redirects: bool = False

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if (value, field.default) == (None, None):
                continue
            if field.name.endswith("_timeout"):
                if not (isfinite(value) and value > 0):
                    raise ValueError(f"{field.name}={value!r}: give seconds, above 0.")
            elif field.name == "addresses":
                if not callable(value):
                    raise ValueError(f"addresses={value!r}: give a function, such as public_only.")
            elif field.name == "insecure_redirects":
                if not isinstance(value, bool):
                    raise ValueError(f"insecure_redirects={value!r}: give True or False.")
            elif field.name == "connections" and not value >= 1:
                raise ValueError(f"connections={value!r}: give a number, 1 or more.")
            elif not value >= 0:
                raise ValueError(f"{field.name}={value!r}: give a number, 0 or more.")


DEFAULT_LIMITS = Limits()
