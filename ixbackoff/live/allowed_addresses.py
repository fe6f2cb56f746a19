"""Hosts and ports of URLs, and the addresses that a connection may be opened to."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address
Allowed: TypeAlias = Callable[[Address], bool]
"""A function that returns whether a connection to an address may be opened."""

PORTS = range(1, 65536)
LONGEST_LABEL = 63
TRANSLATED = IPv6Network("64:ff9b::/96")

# The special addresses, from the registries of IANA (RFC 6890). `is_global` would not do: its list
# is as old as the interpreter, and it counts some abandoned networks as global.
UNICAST = IPv6Network("2000::/3")  # IANA assigns global IPv6 addresses from no other network
NOT_GLOBAL = tuple(
    ip_network(network)
    for network in (
        *("0.0.0.0/8", "10.0.0.0/8", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"),
        "100.64.0.0/10",  # shared by the customers of a provider
        "168.63.129.16/32",  # a global address, but Azure uses it for the host of a virtual machine
        "169.254.0.0/16",  # link-local
        "192.0.0.0/24",  # protocols
        "192.88.99.0/24",  # was the anycast of 6to4
        *("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"),  # documentation
        "198.18.0.0/15",  # benchmarks
        *("224.0.0.0/4", "240.0.0.0/4"),  # multicast; reserved, and broadcast
        "2001::/23",  # protocols of IPv6, with Teredo, benchmarks and ORCHID
        *("2001:db8::/32", "3fff::/20"),  # documentation of IPv6
    )
)


class AddressRefused(Exception):
    """An address is not allowed, or cannot be known."""


def checked(addresses: list[str], allowed: Allowed | None) -> list[str]:
    """Return the addresses that are allowed; raise AddressRefused if there is none."""
    if allowed is None:
        return addresses
    kept = [address for address in addresses if allowed(unmapped(ip_address(address)))]
    if not kept:
        raise AddressRefused("`Limits(addresses=...)` does not allow the address of its host")
    return kept


def unmapped(address: Address) -> Address:
    """Return the IPv4 address inside an IPv4-mapped IPv6 address; other addresses unchanged."""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def public_only(address: Address) -> bool:
    """Allow only addresses of the public internet, for `Limits(addresses=public_only)`.

    It refuses loopback addresses, private networks, link-local addresses (where cloud services hand
    out credentials), multicast, reserved addresses, and the IPv6 forms of these IPv4 addresses
    (mapped, NAT64, 6to4). The list is part of this package: it does not vary with Python's version.

    >>> from ipaddress import ip_address
    >>> public_only(ip_address("93.184.216.34")), public_only(ip_address("10.0.0.1"))
    (True, False)
    """
    address = unmapped(address)
    if any(address in network for network in NOT_GLOBAL):
        return False
    if isinstance(address, IPv4Address):
        return True
    if address in TRANSLATED:  # NAT64: only the embedded IPv4 address matters
        return public_only(IPv4Address(int(address) & 0xFFFFFFFF))
    if address not in UNICAST:
        return False
    return address.sixtofour is None or public_only(address.sixtofour)


def check_host(host: bytes, where: str) -> None:
    """Raise ValueError if the host of a URL has a label that is empty or too long for DNS."""
    if not all(1 <= len(label) <= LONGEST_LABEL for label in host.removesuffix(b".").split(b".")):
        raise ValueError(
            f"{where}: its host, or that of a redirect, is not a valid name: each label between "
            f"dots has 1 to {LONGEST_LABEL} characters."
        )


def check_port(port: int | None, where: str) -> None:
    """Raise ValueError if a URL has a port other than 1 to 65535."""
    if port is not None and port not in PORTS:
        raise ValueError(f"{where}: {port} is not a port: give one from 1 to 65535.")
