"""Addresses that connections are opened to, and those that are not allowed."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address
Allowed: TypeAlias = Callable[[Address], bool]
"""A function that tells whether a connection to an address may be opened."""


class Refused(Exception):
    """An address is not allowed, or cannot be known."""


def checked(addresses: list[str], allowed: Allowed | None) -> list[str]:
    """Return the addresses that are allowed.

    Raises:
        Refused: none of them is.
    """
    if allowed is None:
        return addresses
    kept = [address for address in addresses if allowed(plain(ip_address(address)))]
    if not kept:
        raise Refused("`Limits(addresses=...)` does not allow the address of its host")
    return kept


def plain(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 address stands for on this machine, or the address."""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


TRANSLATED = IPv6Network("64:ff9b::/96")
COMPATIBLE = IPv6Network("::/96")


def public_only(address: Address) -> bool:
    """Allow the addresses of the public internet, for `Limits(addresses=public_only)`.

    Not allowed are the machine itself, private networks, the link (where cloud services give
    credentials to their machines), multicast, what is reserved, and IPv6 addresses that lead to
    such an IPv4 address.

    >>> from ipaddress import ip_address
    >>> public_only(ip_address("93.184.216.34")), public_only(ip_address("10.0.0.1"))
    (True, False)
    """
    inner = [address]
    if isinstance(address, IPv6Address):
        inner += [each for each in (address.ipv4_mapped, address.sixtofour) if each is not None]
        inner += address.teredo or ()
        if address in TRANSLATED:  # where the network translates, it leads to the IPv4 address
            inner = []
        if address in TRANSLATED or address in COMPATIBLE:
            inner.append(IPv4Address(int(address) & 0xFFFFFFFF))
    return all(each.is_global and not each.is_multicast for each in inner)
