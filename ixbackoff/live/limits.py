"""Limits of live commands, and the deadlines that follow from them."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from .._limits.deadlines import time_limit
from .._words.checks import above_zero

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of live commands.

    >>> Limits(read_timeout=5.0).connect_timeout
    10.0

    Attributes:
        connect_timeout: seconds to open a connection to one address of a host. Under `run_async`,
            if `addresses` is `None`, they include the look-up and all addresses of the host.
        read_timeout: seconds without a byte from a web server.
        part_timeout: seconds for one request to an object store. A request carries at most 5 MiB,
            or a 10,000th of the file if that is more.
        total_timeout: seconds for a whole download or upload, or for a `HEAD` request; a shorter
            limit of the program (`within`, `.limit`) wins.
        max_size: bytes of a download; `None`, the default, for no limit.
        max_redirects: the number of redirects that one request follows.
        connections: the number of concurrent exchanges with one host over the same `Connections`;
            under `run_async` it holds only inside `async with` of the `Connections`.
        addresses: a function from an address of `ipaddress` to a `bool`, true if a connection to it
            may be opened, such as `public_only`; `None`, the default, for all. It gets each address
            that a download or a `HEAD` request is about to connect to, after redirects as well, so
            no host name gets around it. Requests through a proxy fail: the proxy looks up hosts.
        insecure_redirects: whether to follow redirects from `https://` to `http://`.

    Raises:
        ValueError: a time-out is not finite and above 0, another number is not whole or is negative
            (`connections`: below 1), `addresses` is not callable, or `insecure_redirects` is not a
            `bool`.
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
                above_zero(field.name, value)
            elif field.name == "addresses":
                if not callable(value):
                    raise ValueError(f"addresses={value!r}: give a function, such as public_only.")
            elif field.name == "insecure_redirects":
                if not isinstance(value, bool):
                    raise ValueError(f"insecure_redirects={value!r}: give True or False.")
            else:
                least = 1 if field.name == "connections" else 0
                if isinstance(value, bool) or not isinstance(value, int) or value < least:
                    raise ValueError(
                        f"{field.name}={value!r}: give a whole number, {least} or more."
                    )


DEFAULT_LIMITS = Limits()


class Deadline:
    """The time by which a live command has to end: by its own limit or that of its program."""

    __slots__ = ("end", "seconds", "what")

    def __init__(self, limits: Limits, what: str = "") -> None:
        outer = time_limit()
        self.what = what  # a description of the command, without secrets
        self.seconds = limits.total_timeout if outer is None else min(limits.total_timeout, outer)
        self.end = time.monotonic() + self.seconds

    @property
    def left(self) -> float:
        """The remaining seconds; 0 after the deadline."""
        return max(0.0, self.end - time.monotonic())

    def shorten(self, seconds: float | None) -> float:
        """Return `seconds`, or the remaining seconds if they are fewer."""
        return self.left if seconds is None else min(seconds, self.left)

    def check(self) -> None:
        if not self.left:
            raise self.exceeded()

    def exceeded(self) -> TimeoutError:
        return TimeoutError(f"{self.what}: not done within {self.seconds:g} s")

    @contextmanager
    def scope(self, grace: float = 0.0) -> Generator[None]:
        """Cancel this block `grace` seconds after the deadline, with `TimeoutError`."""
        from anyio import move_on_after

        with move_on_after(self.left + grace) as scope:
            yield
        if scope.cancelled_caught:
            raise self.exceeded()
