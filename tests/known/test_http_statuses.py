"""Clients of the web against a server that fails: which failures are tried again, and why not."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import repeat
from typing import NamedTuple, TypeAlias, TypeVar

import pytest

from ixbackoff import known
from ixbackoff.known.http_statuses import IDEMPOTENT, sent_request
from ixbackoff.testing.web import (
    Dropped,
    Fault,
    Hang,
    Malformed,
    Origin,
    ReceivedRequest,
    Redirect,
    Reset,
    Status,
    Truncated,
)

from ..support.clients.tries import why_noted
from ..support.clients.web import (
    CLIENTS,
    CONNECT_TIMEOUT,
    READ_TIMEOUT,
    Client,
    each_client,
    impatience,
    raising_clients,
)
from ..support.servers.certificates import resetting
from ..support.ways.live import full

T = TypeVar("T")
Faults: TypeAlias = dict[str, tuple[type[Fault], ...]]

PLAIN: Faults = {"urllib": (Reset, Hang), "http": (Reset, Hang)}
"""Failures that a library leaves to Python: a `ConnectionResetError` may come of anything."""

ONCE_MORE = {"aiohttp": (Reset(), Dropped())}
"""Failures of a GET after which the library itself asks once more."""

AS_STATUS: Faults = {"aiohttp": (Malformed,)}
"""What is not HTTP is a status of 400 for aiohttp."""

BY_READING: Faults = {"urllib": (Truncated,), "http": (Truncated, Dropped, Malformed)}
"""Failures of which only the method is known, but not the headers of the request."""

ONCE = AS_STATUS | BY_READING

LOST = [Reset(), Reset(after=2), Truncated(after=2), Dropped(), Hang(), Malformed()]
each_loss = pytest.mark.parametrize("fault", LOST, ids=repr)


class Asked(NamedTuple):
    """The failure of a request that was tried, and the requests that came to the server."""

    failure: Exception
    requests: list[ReceivedRequest]


def asked(
    client: Client, fault: Fault, words: str, redirect: Redirect | None = None, **headers: str
) -> Asked:
    """Have a client try a request whose answer has such a fault, after a redirect if one is given.

    All clients wait at the same time for an answer that does not come.
    """
    if fault == Hang():
        return hung(words, redirect, **headers)[client.name]
    return asked_alone(client, fault, words, redirect, headers)


def asked_alone(
    client: Client, fault: Fault, words: str, redirect: Redirect | None, headers: dict[str, str]
) -> Asked:
    scripts: dict[str, Iterable[Fault]] = {"/a": repeat(redirect or fault), "/b": repeat(fault)}
    method, path = words.split()
    with Origin({"/a": b"acorn", "/b": b"acorn"}, scripts) as origin:
        failure = client.fails(method, origin.url + path, **headers)
    return Asked(failure, origin.requests)


@cache
def hung(words: str, redirect: Redirect | None, **headers: str) -> dict[str, Asked]:
    with impatience(READ_TIMEOUT, 0.1):
        return at_once(
            # for the others, a redirect is an answer
            [client for client in CLIENTS if client.raises_statuses or not redirect],
            lambda client: asked_alone(client, Hang(), words, redirect, headers),
        )


def at_once(clients: Sequence[Client], ask: Callable[[Client], T]) -> dict[str, T]:
    """Let clients ask in threads of their own; return what comes of it, by their names."""
    with ThreadPoolExecutor(len(clients)) as threads:
        made = {one.name: threads.submit(copy_context().run, ask, one) for one in clients}
    return {name: one.result() for name, one in made.items()}


def is_one(fault: Fault, of: Faults, client: Client) -> bool:
    return isinstance(fault, of.get(client.library, ()))


@each_client
@each_loss
def test_a_get_whose_answer_is_lost_is_tried_again(client: Client, fault: Fault) -> None:
    failure, requests = asked(client, fault, "GET /a")
    if is_one(fault, AS_STATUS, client):
        assert why_noted(failure).endswith(" 400")
        return
    assert len(requests) == (8 if fault in ONCE_MORE.get(client.library, ()) else 4)
    assert known.judge(failure) == known.Verdict(True)


@each_client
@each_loss
def test_a_post_whose_answer_is_lost_is_not_tried_again(client: Client, fault: Fault) -> None:
    failure, requests = asked(client, fault, "POST /a?token=hush")
    if is_one(fault, PLAIN, client):
        assert isinstance(failure, ConnectionResetError | TimeoutError)
        assert len(requests) == 4
        return
    assert len(requests) == 1
    why = why_noted(failure)
    assert why.startswith((client.library, "http.client")), why
    assert failure.__class__.__name__ in why
    assert "hush" not in why
    if not is_one(fault, AS_STATUS, client):
        assert why.endswith(" after a POST, which may have been carried out")


@each_client
@each_loss
def test_a_post_with_a_key_is_tried_again(client: Client, fault: Fault) -> None:
    _, requests = asked(client, fault, "POST /a", Idempotency_Key="5")
    assert {each.headers["idempotency-key"] for each in requests} == {"5"}
    assert len(requests) == (1 if is_one(fault, ONCE, client) else 4)


@raising_clients
@pytest.mark.parametrize("method", ["HEAD", "PUT", "DELETE", "OPTIONS"])
def test_what_is_idempotent_is_tried_again(client: Client, method: str) -> None:
    with Origin({"/a": b"acorn"}, {"/a": repeat(Status(500))}) as origin:
        client.fails(method, f"{origin.url}/a")
    assert origin.counts == {f"{method} /a": 4}


@each_client
def test_a_connection_that_is_reset_before_the_request_is_whole(client: Client) -> None:
    with resetting() as server:
        assert known.is_transient(client.fails("GET", server.url))
        assert len(server.came) == (8 if client.library == "aiohttp" else 4)
        server.came.clear()
        failure = client.fails("POST", server.url)
    assert len(server.came) == (4 if known.is_transient(failure) else 1)
    # For a client it is as if the request had been carried out and not answered.
    assert not known.is_transient(failure) or isinstance(failure, ConnectionResetError)


@raising_clients
@pytest.mark.parametrize("status", [400, 401, 404, 409, 413, 501])
def test_no_other_status_may(client: Client, status: int) -> None:
    with Origin({"/a": b"acorn"}, {"/a": repeat(Status(status, retry_after=0))}) as origin:
        failure = client.fails("GET", f"{origin.url}/a?token=hush")
    assert len(origin.requests) == 1
    assert why_noted(failure).endswith(f".{failure.__class__.__name__} {status}")


@raising_clients
@pytest.mark.parametrize("status", [408, 425, 429, 503])
def test_a_post_that_was_turned_away_is_tried_again(client: Client, status: int) -> None:
    with Origin({"/a": b"acorn"}, {"/a": repeat(Status(status))}) as origin:
        client.fails("POST", f"{origin.url}/a")
    assert len(origin.requests) == 4


@raising_clients
@pytest.mark.parametrize("status", [500, 502, 504])
def test_a_post_that_broke_down_is_tried_again_only_with_a_key(client: Client, status: int) -> None:
    with Origin({"/a": b"acorn"}, {"/a": repeat(Status(status))}) as origin:
        failure = client.fails("POST", f"{origin.url}/a")
        assert len(origin.requests) == 1
        client.fails("POST", f"{origin.url}/a", idempotency_key="5")
        assert len(origin.requests) == 5
    why = f" {status} after a POST, which may have been carried out"
    assert why_noted(failure).endswith(why)


@raising_clients
@pytest.mark.parametrize("status", [429, 503])
def test_what_the_server_asks_is_carried(client: Client, status: int) -> None:
    new_year = "Fri, 01 Jan 2038 00:00:00 GMT"
    script = [
        Status(status, retry_after=7),
        Status(status, datetime(2038, 1, 1, 0, 0, 30, tzinfo=UTC), headers={"Date": new_year}),
        Status(status, timedelta(seconds=12)),
        Status(status, datetime(2000, 1, 1, tzinfo=UTC)),
        Status(status, "later"),
        Status(status),
    ]
    asked: list[float | None] = []
    with Origin({"/a": b"acorn"}, {"/a": script}) as origin:
        for _ in script:
            with pytest.raises(Exception) as caught:  # noqa: PT011
                client.ask("GET", f"{origin.url}/a", {})
            asked.append(known.retry_after(caught.value))
    assert asked == [7.0, 30.0, 12.0, 0.0, None, None]


@raising_clients
@pytest.mark.parametrize("fault", [Dropped(), Hang(), Status(503), Status(504)], ids=repr)
def test_a_post_that_was_carried_out_before_a_redirect_is_not_tried_again(
    client: Client, fault: Fault
) -> None:
    failure, requests = asked(client, fault, "POST /a", Redirect("/b", 303))
    if is_one(fault, PLAIN, client):
        return
    assert [(one.method, one.path) for one in requests].count(("POST", "/a")) == 1
    assert why_noted(failure).endswith(" after a POST, which may have been carried out")


@raising_clients
def test_a_redirect_to_a_closed_port_counts_what_went_before(client: Client) -> None:
    with Origin({}) as elsewhere, Origin({"/a": b""}) as origin:
        elsewhere.go_down(60.0)
        origin.script("/a", repeat(Redirect(f"{elsewhere.url}/b", 303)))
        client.fails("POST", f"{origin.url}/a")
        assert origin.counts["POST /a"] == 1
        client.fails("GET", f"{origin.url}/a")
        assert origin.counts["GET /a"] == 4


@raising_clients
def test_endless_redirects_do_not_pass(client: Client) -> None:
    with Origin({}, {"/a": repeat(Redirect("/a"))}) as origin:
        failure = client.fails("GET", f"{origin.url}/a")
        asked = len(origin.requests)
    assert asked <= 31  # once through the limit of each
    assert not known.judge(failure).transient


@each_client
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_refused_connection_is_tried_again(
    client: Client, method: str, attempts: list[str]
) -> None:
    with Origin({}) as origin:
        origin.go_down(60.0)
        failure = client.fails(method, f"{origin.url}/a")
    assert attempts.count("127.0.0.1") >= 4
    assert known.judge(failure).transient


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The hosts to which clients connect: a refused connection cannot be counted at the server."""
    hosts: list[str] = []
    real = socket.socket.connect

    def connect(self: socket.socket, address: tuple[str, int]) -> None:
        hosts.append(address[0])
        real(self, address)

    monkeypatch.setattr("socket.socket.connect", connect)
    return hosts


ONE_OF_EACH = list({one.library: one for one in reversed(CLIENTS)}.values())


def test_a_connection_that_is_not_made_in_time_is_tried_again() -> None:
    with full() as url, impatience(CONNECT_TIMEOUT):
        failures = at_once(ONE_OF_EACH, lambda client: client.fails("POST", url))
    verdicts = {name: known.judge(failure).transient for name, failure in failures.items()}
    assert verdicts == {client.name: True for client in ONE_OF_EACH}


NAMES: list[tuple[int, int]] = [(socket.EAI_AGAIN, 4), (socket.EAI_NONAME, 1)]


@each_client
@pytest.mark.parametrize(("error", "asked"), NAMES, ids=["again", "unknown"])
def test_a_name_is_looked_up_again_if_the_resolver_says_so(
    client: Client, error: int, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up: list[object] = []

    def getaddrinfo(host: object, *given: int, **named: int) -> object:
        flags = named["flags"] if "flags" in named else given[4] if len(given) > 4 else 0
        if flags & socket.AI_NUMERICHOST:  # trio asks first if it is a number
            raise socket.gaierror(socket.EAI_NONAME, "not a number")
        looked_up.append(host)
        raise socket.gaierror(error, "no address")

    monkeypatch.setattr("socket.getaddrinfo", getaddrinfo)
    failure = client.fails("POST", "http://nuts.example:80/a")
    assert len(looked_up) == asked
    verdict = known.judge(failure)
    assert verdict.transient == (asked == 4)
    if client.library != "http":
        assert verdict.transient or verdict.why.endswith(": the name of the host is not known")


def test_methods_are_as_in_the_standard() -> None:
    methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"]
    assert {name for name in methods if sent_request(name).repeatable} == IDEMPOTENT
    assert sent_request("patch", {"IDEMPOTENCY-KEY": "5"}).repeatable
    assert not sent_request("patch", {"Idempotency-Key": ""}).repeatable
