"""What all clients with a backoff inside have in common, on real servers."""

from __future__ import annotations

import logging
from itertools import repeat
from typing import Any

import pytest

from ixbackoff import (
    N1,
    N3,
    Backoff,
    CircuitBreaker,
    CircuitOpen,
    Exponential,
    Misuse,
    RetryBudget,
    backoff,
    observing,
)
from ixbackoff.schedules import Constant
from ixbackoff.testing import no_waits
from ixbackoff.testing.web import Dropped, Fault, Hang, Origin, Redirect, Reset, Status

from ..support.clients.retrying import Asked, Failed, Reply, each_library
from ..support.servers.ports import free_port

pytestmark = each_library
SHORT = Constant(0.001)
patiently = backoff(N3, schedule=SHORT)
ACORN = Reply(200, b"acorn")


class Asking:
    """A library that asks a server with a script of faults, with waits that take no time."""

    def __init__(self, library: Any, *faults: Fault | None, method: str = "GET") -> None:
        self.library = library
        self.faults = faults
        self.method = method

    def __call__(self, used: Backoff[Any] = patiently, **options: Any) -> tuple[Reply, int]:
        """Ask; return the answer, and the number of requests."""
        with Origin({"/a": b"acorn"}, {"/a": self.faults}) as self.origin:
            reply = self.library.ask(used, Asked(self.method, f"{self.origin.url}/a", **options))
        return reply, len(self.origin.requests)

    def fails(self, used: Backoff[Any] = patiently, **options: Any) -> tuple[Any, int]:
        """Ask; return the failure, and the number of requests."""
        with pytest.raises(Exception) as caught:  # noqa: PT011
            self(used, **options)
        return caught.value, len(self.origin.requests)


def notes(failure: BaseException) -> str:
    return "\n".join(getattr(failure, "__notes__", ()))


def test_a_request_that_fails_is_sent_again(library: Any) -> None:
    assert Asking(library, Status(503), Reset(), Status(500))() == (ACORN, 4)


def test_the_server_says_when_and_no_wait_is_shorter_than_the_last(library: Any) -> None:
    faults = Status(503), Status(429, retry_after=3), Status(503)
    with no_waits() as ours:
        assert Asking(library, *faults)(backoff(N3, schedule=Exponential())) == (ACORN, 4)
    assert ours.waited == [1.0, 3.0, 4.0]
    with no_waits() as ours:
        assert Asking(library, Status(503, retry_after=5), *faults[:1])(patiently) == (ACORN, 3)
    assert ours.waited == [5.0, 5.0]


@pytest.mark.parametrize(
    ("status", "headers", "tries"),
    [(500, {}, 1), (500, {"Idempotency-Key": "5"}, 2), (503, {}, 2), (404, {}, 1)],
    ids=str,
)
def test_a_post(library: Any, status: int, headers: dict[str, str], tries: int) -> None:
    asking = Asking(library, Status(status), method="POST")
    reply, asked = asking(headers=headers, body=b"two acorns")
    assert asked == tries
    assert (reply.status == status) is (tries == 1)
    assert {request.body for request in asking.origin.requests} == {b"two acorns"}


def test_the_last_answer_is_returned_and_has_its_body(
    library: Any, caplog: pytest.LogCaptureFixture
) -> None:
    faults = [Status(503, body=body) for body in (b"1", b"2", b"3", b"sorry")]
    assert Asking(library, *faults)() == (Reply(503, b"sorry"), 4)
    assert "GET 127.0.0.1: gave up after 4 tries" in caplog.records[-1].getMessage()


def test_a_long_answer_too(library: Any) -> None:
    faults = [Status(503, body=100_000 * letter) for letter in (b"1", b"2", b"3", b"4")]
    assert Asking(library, *faults)() == (Reply(503, 100_000 * b"4"), 4)


def test_an_answer_that_will_be_the_same_is_no_retry(
    library: Any, caplog: pytest.LogCaptureFixture
) -> None:
    assert Asking(library, Status(404, body=b"where?"))() == (Reply(404, b"where?"), 1)
    assert not caplog.records


def test_nobody_listens(library: Any) -> None:
    with pytest.raises(Exception) as caught:  # noqa: PT011
        library.ask(patiently, Asked("POST", f"http://127.0.0.1:{free_port()}/a"))
    assert type(caught.value).__module__.partition(".")[0] == library.name.partition(" ")[0]
    assert "tries: 4, waits: 3" in notes(caught.value)


@pytest.mark.parametrize("fault", [Reset(), Dropped()], ids=str)
def test_a_connection_that_breaks_each_time(library: Any, fault: Fault) -> None:
    failure, asked = Asking(library, *repeat(fault, 20)).fails()
    assert asked == 4
    assert "tries: 4, waits: 3" in notes(failure)
    failure, asked = Asking(library, *repeat(fault, 20), method="POST").fails()
    assert asked == 1
    assert "after a POST, which may have been carried out" in notes(failure)


def test_a_time_out(library: Any) -> None:
    assert Asking(library, Hang())(timeout=0.2) == (ACORN, 2)


def test_a_stream_is_sent_once(library: Any, caplog: pytest.LogCaptureFixture) -> None:
    asked = Asked("PUT", "", chunks=[b"two ", b"acorns"])
    with Origin({"/a": b"acorn"}, {"/a": [Status(503)]}) as origin:
        asked.url = f"{origin.url}/a"
        assert library.ask(patiently, asked).status == 503
    assert (len(origin.requests), asked.begun) == (1, 1)
    assert origin.requests[0].body == b"two acorns"
    [line] = caplog.records
    assert line.getMessage().startswith(
        "PUT 127.0.0.1: not tried again: the body of the request is a stream, which can be sent "
        "only once ("
    )


def test_a_stream_in_a_connection_that_breaks(library: Any) -> None:
    failure, asked = Asking(library, Reset(), method="PUT").fails(chunks=[b"two ", b"acorns"])
    assert asked == 1
    assert "not tried again: the body of the request is a stream" in notes(failure)


def test_a_stream_is_no_reason_where_there_is_another(
    library: Any, caplog: pytest.LogCaptureFixture
) -> None:
    assert Asking(library, Status(404), method="PUT")(chunks=[b"a"])[0].status == 404
    assert not caplog.records


def test_redirects_are_outside(library: Any) -> None:
    with Origin({"/b": b"acorn"}, {"/a": [Redirect("/b")], "/b": [Status(503)]}) as origin:
        assert library.ask(patiently, Asked("GET", f"{origin.url}/a")) == ACORN
    assert [request.path for request in origin.requests] == ["/a", "/b", "/b"]


def test_a_wait_that_would_last_too_long_is_not_begun(
    library: Any, caplog: pytest.LogCaptureFixture
) -> None:
    faults = Status(503), Status(503, retry_after=60, body=b"later")
    reply, asked = Asking(library, *faults)(patiently.replace(within=30))
    assert (reply, asked) == (Reply(503, b"later"), 2)
    assert "no time left" in caplog.records[-1].getMessage()


def test_each_try_has_the_time_that_is_left(library: Any) -> None:
    failure, asked = Asking(library, *repeat(Hang(), 9)).fails(patiently.replace(within=0.3))
    assert asked in (1, 2)
    assert isinstance(failure, TimeoutError) or "Timeout" in type(failure).__name__


def test_a_decorated_function_around_it_is_refused_by_name(library: Any) -> None:
    with (
        Origin({"/a": b"acorn"}) as origin,
        pytest.raises(Misuse, match=r"GET 127.0.0.1 \(backoff N3\) was called inside .*page"),
    ):
        library.ask_inside(patiently, patiently, Asked("GET", f"{origin.url}/a"))


def test_a_decorated_function_around_it_that_says_once(library: Any) -> None:
    with Origin({"/a": b"acorn"}, {"/a": repeat(Status(503))}) as origin:
        asked = Asked("GET", f"{origin.url}/a")
        outer = backoff(N3, schedule=SHORT, nested="once")
        with pytest.raises(Failed, match="503"):
            library.ask_inside(outer, patiently, asked)
    assert len(origin.requests) == 4


def test_eight_at_once(library: Any) -> None:
    pages = {f"/{number}": b"%d" % number for number in range(8)}
    with Origin(pages, {path: [Status(503), Status(503)] for path in pages}) as origin:
        several = [Asked("GET", f"{origin.url}{path}") for path in pages]
        assert library.ask_at_once(patiently, several) == [
            Reply(200, body) for body in pages.values()
        ]
    assert set(origin.counts.values()) == {3}


def test_observers_see_each_request(library: Any) -> None:
    events: list[observing.Event] = []
    with observing.observed(events.append):
        assert Asking(library, Status(503))() == (ACORN, 2)
    kinds = [type(event).__name__ for event in events]
    assert kinds == ["Began", "Issued", "Answered", "WaitBegan", "Issued", "Answered", "Ended"]
    assert {event.run.name for event in events if hasattr(event, "run")} == {"GET 127.0.0.1"}


def test_a_budget(library: Any) -> None:
    poorly = patiently.replace(budget=RetryBudget(1))
    assert Asking(library, *repeat(Status(503, body=b"sorry"), 9))(poorly) == (
        Reply(503, b"sorry"),
        2,
    )


def test_a_breaker(library: Any) -> None:
    breaker = CircuitBreaker(failures=2, within=60, open_for=60)
    guarded = backoff(N1, schedule=SHORT, breaker=breaker)
    for _ in range(3):
        assert Asking(library, Status(404))(guarded)[0].status == 404
    assert breaker.state == "closed"
    assert Asking(library, *repeat(Status(503), 9))(guarded)[0].status == 503
    assert breaker.state == "open"
    if "trio" not in library.name:  # each event loop of trio has a clock of its own
        assert isinstance(Asking(library).fails(guarded.replace(within=1))[0], CircuitOpen)


def test_on_sees_the_failure_of_the_library(library: Any) -> None:
    seen: list[str] = []

    def conflict(failure: Exception) -> bool:
        seen.append(type(failure).__name__)
        return "409" in str(failure)

    assert (
        Asking(library, Status(409), Status(503))(patiently.replace(on=conflict))[0].status == 503
    )
    kind = {"requests": "HTTPError", "aiohttp": "ClientResponseError"}
    assert set(seen) == {kind.get(library.name.partition(" ")[0], "HTTPStatusError")}


def test_without_until(library: Any) -> None:
    with pytest.raises(Misuse, match="until= in a client"):
        Asking(library)(backoff(N1, until=bool))
    with pytest.raises(Misuse, match="give a backoff"):
        library.ask(N3, Asked("GET", "http://127.0.0.1/"))


def test_a_login_stays_out_of_the_log(library: Any, caplog: pytest.LogCaptureFixture) -> None:
    with Origin({"/a": b"acorn"}, {"/a": [Status(503)]}) as origin:
        url = origin.url.replace("://", "://me:hush@")
        assert library.ask(patiently, Asked("GET", f"{url}/a")) == ACORN
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "hush" not in caplog.text


def test_a_query_stays_out_of_the_log_of_a_status(
    library: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with Origin({"/a": b"acorn"}, {"/a": [Status(503)]}) as origin:
        assert library.ask(patiently, Asked("GET", f"{origin.url}/a?token=hush")) == ACORN
    assert [request.target for request in origin.requests] == ["/a?token=hush"] * 2
    assert caplog.records
    assert "hush" not in caplog.text
