"""Hosts and ports of URLs, and the addresses that a connection may be opened to."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address
Allowed: TypeAlias = Callable[[Address], bool]
"""A function that returns whether a connection to an address may be opened."""

PORTS = range(1, 65536)
LONGEST_LABEL = 63
TRANSLATED = IPv6Network("64:ff9b::/96")
COMPATIBLE = IPv6Network("::/96")


class Refused(Exception):
    """An address is not allowed, or cannot be known."""


def checked(addresses: list[str], allowed: Allowed | None) -> list[str]:
    """Return the addresses that are allowed.

    Raises:
        Refused: none of them is.
    """
    if allowed is None:
        return addresses
    kept = [address for address in addresses if allowed(unmapped(ip_address(address)))]
    if not kept:
        raise Refused("`Limits(addresses=...)` does not allow the address of its host")
    return kept


def unmapped(address: Address) -> Address:
    """Return the IPv4 address inside an IPv4-mapped IPv6 address; other addresses unchanged."""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def public_only(address: Address) -> bool:
    """Allow only addresses of the public internet, for `Limits(addresses=public_only)`.

    It refuses the machine itself, private networks, link-local addresses (where cloud services hand
    out credentials), multicast, reserved addresses, and IPv6 addresses that embed such an IPv4
    address.

    >>> from ipaddress import ip_address
    >>> public_only(ip_address("93.184.216.34")), public_only(ip_address("10.0.0.1"))
    (True, False)
    """
    inner = [address]
    if isinstance(address, IPv6Address):
        inner += [each for each in (address.ipv4_mapped, address.sixtofour) if each is not None]
        inner += address.teredo or ()
        if address in TRANSLATED:  # NAT64: only the embedded IPv4 address matters
            inner = []
        if address in TRANSLATED or address in COMPATIBLE:
            inner.append(IPv4Address(int(address) & 0xFFFFFFFF))
    return all(each.is_global and not each.is_multicast for each in inner)


def check_host(host: bytes, where: str) -> None:
    """Check the host of a URL.

    Raises:
        ValueError: DNS does not allow such a name.
    """
    if not all(1 <= len(label) <= LONGEST_LABEL for label in host.removesuffix(b".").split(b".")):
        raise ValueError(
            f"{where}: its host, or that of a redirect, is not a valid name: each label between "
            f"dots has 1 to {LONGEST_LABEL} characters."
        )


def check_port(port: int | None, where: str) -> None:
    """Check the port of a URL.

    Raises:
        ValueError: the port is not from 1 to 65535.
    """
    if port is not None and port not in PORTS:
        raise ValueError(f"{where}: {port} is not a port: give one from 1 to 65535.")
