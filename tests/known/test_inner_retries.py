"""Retries of other libraries inside a try are told once, in the log and to observers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any

import backoff as peer
import boto3  # type: ignore[import-untyped]
import pytest
import requests
import stamina
import tenacity
from botocore.config import Config  # type: ignore[import-untyped]
from requests.adapters import HTTPAdapter
from urllib3 import Retry

from ixbackoff import N2, NotReady, at, backoff, call, do, known
from ixbackoff._running import logs
from ixbackoff._words.logger import default_logger
from ixbackoff.live import live
from ixbackoff.observing import Answered, Event, observed
from ixbackoff.schedules import Constant
from ixbackoff.testing import no_waits
from ixbackoff.testing.web import Hang, Origin, Reset, Status

from ..support.clients.tries import failure_of

BOTOCORE = 'Config(retries={"total_max_attempts": 1})'


def fail() -> None:
    raise ConnectionResetError


async def fail_async() -> None:
    raise ConnectionResetError


def by_tenacity() -> None:
    tenacity.retry(stop=tenacity.stop_after_attempt(3), reraise=True)(fail)()


def by_tenacity_wrapped() -> None:
    tenacity.retry(stop=tenacity.stop_after_attempt(3))(fail)()


def by_tenacity_async() -> None:
    asyncio.run(tenacity.retry(stop=tenacity.stop_after_attempt(3), reraise=True)(fail_async)())


def by_stamina() -> None:
    stamina.retry(on=OSError, attempts=3, wait_initial=0, wait_jitter=0)(fail)()


def by_stamina_async() -> None:
    asyncio.run(stamina.retry(on=OSError, attempts=3, wait_initial=0, wait_jitter=0)(fail_async)())


def by_peer() -> None:
    peer.on_exception(peer.constant, OSError, max_tries=3, interval=0)(fail)()


def by_peer_async() -> None:
    asyncio.run(peer.on_exception(peer.constant, OSError, max_tries=3, interval=0)(fail_async)())


@pytest.mark.parametrize(
    ("loop", "library"),
    [
        (by_tenacity, "tenacity"),
        (by_tenacity_wrapped, "tenacity"),
        (by_tenacity_async, "tenacity"),
        (by_stamina, "stamina"),
        (by_stamina_async, "stamina"),
        (by_peer, "backoff"),
        (by_peer_async, "backoff"),
    ],
)
def test_a_library_of_retries(loop: Callable[[], None], library: str) -> None:
    [found] = known.inner(failure_of(loop))
    assert (found.library, found.tries) == (library, 3)


def with_retries(url: str, retries: Retry | int) -> None:
    with requests.Session() as session:
        session.mount("http://", HTTPAdapter(max_retries=retries))
        session.get(url, timeout=0.1).raise_for_status()


@pytest.mark.parametrize("fault", [Status(503), Reset(), Hang()], ids=repr)
def test_urllib3(fault: Any) -> None:
    with Origin({}, {"/a": repeat(fault)}) as origin:
        retries = Retry(total=2, status_forcelist=[503])
        failure = failure_of(lambda: with_retries(f"{origin.url}/a", retries))
        assert known.inner(failure) == [known.Inner("urllib3", 3, "retries=False")]
        assert len(origin.requests) == 3
        assert known.inner(failure_of(lambda: with_retries(f"{origin.url}/a", 0))) == []


@pytest.mark.parametrize("fault", [Status(503), Reset()], ids=repr)
def test_botocore(fault: Any, aws: pytest.MonkeyPatch) -> None:
    retries: Any = {"total_max_attempts": 2, "mode": "standard"}
    with Origin({}, {"/nuts/acorn": repeat(fault)}) as origin:
        client = boto3.client("s3", endpoint_url=origin.url, config=Config(retries=retries))
        failure = failure_of(lambda: client.get_object(Bucket="nuts", Key="acorn"))
        client.close()
        assert len(origin.requests) == 2
    assert known.inner(failure) == [known.Inner("botocore", 2, BOTOCORE)]


def test_one_try_is_none() -> None:
    assert known.inner(NotReady()) == []
    once = tenacity.retry(stop=tenacity.stop_after_attempt(1), reraise=True)(fail)
    assert known.inner(failure_of(once)) == []


def test_a_loop_around_the_fallback_is_not_inside_it() -> None:
    failures: list[Exception] = []
    try:
        by_tenacity()
    except ConnectionResetError:
        failures.append(failure_of(lambda: [].pop()))
    [fallback] = failures
    assert fallback.__context__ is not None
    assert known.inner(fallback) == []


def test_no_failure_is_too_odd() -> None:
    class Odd(Exception):
        @property
        def response(self) -> object:
            raise RuntimeError

        inner_exception = response

    first, second = Odd(), Odd()
    first.__cause__, second.__cause__ = second, first
    assert known.inner(first) == []


def test_loops_in_loops_are_the_product(told: list[str]) -> None:
    @backoff(N2, schedule=Constant(1))
    def both() -> None:
        peer.on_exception(peer.constant, OSError, max_tries=2, interval=0)(by_tenacity)()

    with no_waits(), pytest.raises(ConnectionResetError):
        both()
    assert told == [
        "both: each try is up to 6 requests, because backoff tries 2 times and tenacity tries 3 "
        "times inside it (turn it off with max_tries=1 and stop=stop_after_attempt(1))"
    ]


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    """The sentences of the log about retries inside a try, at the end of the test and before."""
    sentences: list[str] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "each try is up to" in record.getMessage():
                sentences.append(record.getMessage())

    handler = Handler()
    default_logger().addHandler(handler)
    logs.INNER_LOGGED.clear()
    yield sentences
    logs.INNER_LOGGED.clear()
    default_logger().removeHandler(handler)


def test_each_name_of_a_run_is_told_once(told: list[str]) -> None:
    patient = backoff(N2, schedule=Constant(1))(by_tenacity)
    other = backoff(N2, schedule=Constant(1))(by_peer)
    program = at(N2).retry(do(call(by_tenacity)))
    with no_waits():
        for function in (patient, patient, other, lambda: program.run(live())):
            with pytest.raises(ConnectionResetError):
                function()
    names = [sentence.partition(":")[0] for sentence in told]
    assert names == ["by_tenacity", "by_peer"]


def test_nothing_is_told_without_a_retry_inside_or_a_wait(told: list[str]) -> None:
    with no_waits(), pytest.raises(ConnectionResetError):
        backoff(N2, schedule=Constant(1))(fail)()
    with pytest.raises(ConnectionResetError):
        backoff(N2, schedule=Constant(1), on=KeyError)(by_tenacity)()
    assert told == []


def test_observers_are_told_of_each_try() -> None:
    found: list[list[known.Inner]] = []

    def see(event: Event) -> None:
        if isinstance(event, Answered):
            found.append(event.inner)

    with observed(see), no_waits(), pytest.raises(ConnectionResetError):
        backoff(N2, schedule=Constant(1))(by_tenacity)()
    assert [[(one.library, one.tries) for one in each] for each in found] == [[("tenacity", 3)]] * 3
