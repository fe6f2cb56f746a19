"""The flags that the three commands share."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from ipaddress import ip_address

from ixbackoff._argument_parser import Parser, number, whole
from ixbackoff.fleet import SlowingServer

from ..experiments.crash import CLIENTS, LINGERING, THINK, TIMEOUT, WAIT, backoffs
from .durations import duration

HOST = "127.0.0.1"
PORT = 8070
PATH = "/api"
DAY = 86_400
MOST_CLIENTS = 10_000
SOMAXCONN = 65_535
SHIPPED = "shipped"
"""The backoff of the article's program, which differs from that of the article's text."""
STATUS = "Exit status: 0 if it ran to its end, 1 if not, 2 if the command is wrong."


def add_port(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--port", type=whole(0, 65_535), default=PORT, help="(default: %(default)s)"
    )


def add_host(parser: ArgumentParser) -> None:
    """Add the flags of the host, which is this machine unless two flags say otherwise."""
    parser.add_argument("--host", default=HOST, help="(default: %(default)s)")
    parser.add_argument(
        "--beyond-loopback", action="store_true", help="the host may be another than loopback"
    )


def checked_host(parser: Parser, words: Namespace) -> None:
    """Refuse a host that is not loopback, unless a flag allows it."""
    host: str = words.host
    try:
        loopback = host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not (loopback or words.beyond_loopback):
        parser.error(f"--host {host}: it is not loopback; add --beyond-loopback if it is yours")


def add_duration(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--seconds",
        type=duration(0.1, DAY),
        default=600.0,
        help="how long, a day at most (default: %(default)s)",
    )


def add_server(parser: ArgumentParser) -> None:
    model = SlowingServer()
    server = parser.add_argument_group("the server")
    server.add_argument(
        "--limit",
        "-limit",
        type=whole(0, 1_000_000),
        default=model.limit,
        help="the most concurrent requests that take --base (default: %(default)s)",
    )
    server.add_argument(
        "--factor",
        "-factor",
        type=number(1.0, 1000.0),
        default=model.factor,
        help="what each 15 further requests multiply the delay by (default: %(default)s)",
    )
    server.add_argument(
        "--base",
        "-baseDelay",
        type=duration(0.001, 3600.0),
        default=model.base,
        metavar="SECONDS",
        help="the shortest delay of a request (default: %(default)s)",
    )
    server.add_argument(
        "--backlog",
        type=whole(0, SOMAXCONN),
        default=model.backlog,
        help="the length of the accept queue, bounded by net.core.somaxconn (default: %(default)s)",
    )
    server.add_argument(
        "--places",
        type=whole(1, 1_000_000),
        default=100_000,
        help="the most concurrent requests, those of clients that have gone included; more are "
        "answered with 503 (default: %(default)s)",
    )
    server.add_argument(
        "--int64",
        action="store_true",
        help="let delays above 292 years overflow, as in Go: then a request ends at its next tick",
    )


def add_client(parser: ArgumentParser) -> None:
    client = parser.add_argument_group("the clients")
    client.add_argument(
        "--clients",
        "-clients",
        type=whole(1, MOST_CLIENTS),
        default=CLIENTS,
        metavar="NUMBER",
        help="the number of clients (default: %(default)s)",
    )
    client.add_argument(
        "--think",
        "-lambda",
        type=duration(0.001, 3600.0),
        default=THINK,
        metavar="SECONDS",
        help="the mean time to think after an answer (default: %(default)s)",
    )
    client.add_argument(
        "--timeout",
        "-timeout",
        type=duration(0.001, 3600.0),
        default=TIMEOUT,
        metavar="SECONDS",
        help="the limit of one request (default: %(default)s)",
    )
    client.add_argument(
        "--backoff",
        choices=(*backoffs(), SHIPPED),
        default="fixed",
        help="the waits after failures: fixed, --wait each time; exponential, as the article's "
        "pseudo-code: --wait at first, times 2.71828 each time, jitter 0.1, at most 300 s; "
        "shipped, as its program: 2.71828 times the time to think, and so on "
        "(default: %(default)s)",
    )
    client.add_argument(
        "-exponential-backoff",
        dest="backoff",
        action="store_const",
        const=SHIPPED,
        help="the flag of the article's program: --backoff shipped",
    )
    client.add_argument(
        "--lingering",
        type=duration(0.0, 3600.0),
        default=LINGERING,
        metavar="SECONDS",
        help="how long a dial continues whose request was abandoned, as in Go; its connection "
        "goes to the request that has waited longest (default: %(default)s)",
    )
    client.add_argument(
        "--wait",
        "-simple-backoff-delay",
        type=duration(0.001, 3600.0),
        default=WAIT,
        metavar="SECONDS",
        help="the first wait of --backoff fixed or exponential (default: %(default)s)",
    )
