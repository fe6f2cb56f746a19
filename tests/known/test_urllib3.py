"""Failures of urllib3, beyond what is common to all clients."""

from __future__ import annotations

from itertools import repeat

import pytest
import urllib3
from urllib3.exceptions import (
    EmptyPoolError,
    LocationValueError,
    MaxRetryError,
    ProtocolError,
    ReadTimeoutError,
)

from ixbackoff import N3, backoff, is_transient, known
from ixbackoff.schedules import Constant
from ixbackoff.testing.web import Hang, Origin, Reset, Status

from ..support.clients.classes import passing_unseen

patiently = backoff(N3, schedule=Constant(0.001))


def test_without_a_request_only_what_was_not_sent_may_pass() -> None:
    assert passing_unseen("urllib3") == {
        "ConnectTimeoutError",
        "NewConnectionError",
        "NameResolutionError",
        "EmptyPoolError",
        "ProxyError",
    }


def test_made_by_hand_without_a_request() -> None:
    pool = urllib3.HTTPConnectionPool("nuts.example")
    late = ReadTimeoutError(pool, "/a?token=hush", "hush")
    for failure in (late, MaxRetryError(pool, "/a?token=hush", late), ProtocolError("hush")):
        assert known.judge(failure).why == (
            f"urllib3.exceptions.{failure.__class__.__name__} after a request of an unknown "
            "method, which may have been carried out"
        )


def test_retries_of_its_own_come_first() -> None:
    with (
        Origin({}, {"/a": repeat(Reset())}) as origin,
        urllib3.PoolManager(retries=urllib3.Retry(total=2, backoff_factor=0)) as pool,
    ):
        ask = patiently(pool.request)
        with pytest.raises(MaxRetryError):
            ask("GET", f"{origin.url}/a")
        assert len(origin.requests) == 12
        with pytest.raises(ProtocolError):
            ask("POST", f"{origin.url}/a")
        assert len(origin.requests) == 13


@pytest.mark.parametrize(("status", "asked"), [(503, 4), (404, 1)])
def test_after_its_retries_the_status_counts(status: int, asked: int) -> None:
    retries = urllib3.Retry(total=0, status_forcelist=[404, 503])
    with (
        Origin({}, {"/a": repeat(Status(status))}) as origin,
        urllib3.PoolManager(retries=retries) as pool,
    ):
        with pytest.raises(MaxRetryError):
            patiently(pool.request)("GET", f"{origin.url}/a")
        assert len(origin.requests) == asked


def test_a_request_of_a_pool_is_known_too() -> None:
    with (
        Origin({}, {"/a": repeat(Hang())}) as origin,
        urllib3.HTTPConnectionPool(origin.host, origin.port, timeout=0.05, retries=False) as pool,
    ):
        ask = patiently(pool.urlopen)
        for method, asked in (("GET", 4), ("POST", 5)):
            with pytest.raises(ReadTimeoutError):
                ask(method, "/a")
            assert len(origin.requests) == asked
        with pytest.raises(ReadTimeoutError):
            ask("POST", "/a", headers={"Idempotency-Key": "5"})
        assert len(origin.requests) == 9


def test_a_body_that_breaks_off_outside_of_the_request_tells_no_method() -> None:
    with (
        Origin({"/a": b"acorn"}, {"/a": repeat(Reset(after=2))}) as origin,
        urllib3.PoolManager() as pool,
    ):

        @patiently
        def stream() -> bytes:
            with pool.request("GET", f"{origin.url}/a", preload_content=False) as answer:
                return answer.read()

        with pytest.raises(ProtocolError):
            stream()
        assert len(origin.requests) == 1


def test_a_pool_that_is_full_has_sent_nothing() -> None:
    with (
        Origin({"/a": b"acorn"}) as origin,
        urllib3.HTTPConnectionPool(origin.host, origin.port, maxsize=1, block=True) as pool,
    ):
        first = pool.request("GET", "/a", preload_content=False)
        with pytest.raises(EmptyPoolError) as caught:
            pool.request("POST", "/a", pool_timeout=0.01)
        assert is_transient(caught.value)
        first.close()


@pytest.mark.parametrize("url", ["http://", "ftp://nuts.example/a", "http://nuts.example:x/a"])
def test_a_wrong_url_does_not_pass(url: str) -> None:
    with urllib3.PoolManager() as pool, pytest.raises(LocationValueError) as caught:
        pool.request("GET", url)
    assert not is_transient(caught.value)
