"""The limits of live commands: their time-outs, the size of downloads and the redirects."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import isfinite


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
        max_size: bytes of a download.
        max_redirects: redirects that one request follows.
        connections: exchanges with one host at the same time, over the same `Connections`.

    Raises:
        ValueError: a time-out is not a finite number above 0, or another limit is negative.
    """

    connect_timeout: float = 10.0
    read_timeout: float = 30.0
    part_timeout: float = 120.0
    total_timeout: float = 3600.0
    max_size: int = 8 * 2**30
    max_redirects: int = 10
    connections: int = 16

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name.endswith("_timeout"):
                if not (isfinite(value) and value > 0):
                    raise ValueError(f"{field.name}={value!r}: give seconds, above 0.")
            elif field.name == "connections" and not value >= 1:
                raise ValueError(f"connections={value!r}: give a number, 1 or more.")
            elif not value >= 0:
                raise ValueError(f"{field.name}={value!r}: give a number, 0 or more.")


DEFAULT_LIMITS = Limits()
