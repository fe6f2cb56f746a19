"""Clients of the web behind a proxy that fails: the request has not been sent then."""

from __future__ import annotations

import gc
import sys
import warnings
from collections.abc import Iterator
from itertools import repeat

import pytest
import urllib3

from ixbackoff import N3, backoff, known
from ixbackoff.schedules import Constant
from ixbackoff.testing.web import Fault, Origin, Status

from ..support.clients.web import Client, raising_clients


@pytest.fixture(autouse=True)
def answers_of_proxies_are_closed() -> Iterator[None]:
    """Close the answers that http.client leaves open before Python 3.11.7."""
    yield
    if sys.version_info < (3, 11, 7):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()


@raising_clients
@pytest.mark.parametrize(
    ("status", "asked"), [(503, 4), (502, 4), (504, 4), (429, 4), (407, 1), (403, 1), (404, 1)]
)
def test_the_status_of_a_proxy_counts_for_every_method(
    client: Client, status: int, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Origin({}, {"CONNECT nuts.example:443": repeat(Status(status))}) as proxy:
        monkeypatch.setenv("https_proxy", proxy.url.replace("127.0", "sesame:opensaysme@127.0", 1))
        failure = client.fails("POST", "https://nuts.example/a")
        counts = dict(proxy.counts)
    assert counts == {"CONNECT nuts.example:443": asked}
    verdict = known.judge(failure)
    assert verdict.transient == (asked == 4)
    assert verdict.transient or verdict.why.endswith(f" {status}")


@raising_clients
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_is_down_may_come_back(
    client: Client, scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Origin({}) as proxy:
        proxy.go_down(60.0)
        monkeypatch.setenv(f"{scheme}_proxy", proxy.url)
        failure = client.fails("POST", f"{scheme}://nuts.example/a")
    assert known.judge(failure).transient


@pytest.mark.parametrize(("status", "asked"), [(503, 4), (407, 1)])
def test_a_proxy_of_urllib3(status: int, asked: int) -> None:
    fault: Fault = Status(status)
    with (
        Origin({}, {"CONNECT nuts.example:443": repeat(fault)}) as proxy,
        urllib3.ProxyManager(proxy.url, retries=0) as pool,
    ):
        ask = backoff(N3, schedule=Constant(0.001))(pool.request)
        with pytest.raises(urllib3.exceptions.MaxRetryError) as caught:
            ask("POST", "https://nuts.example/a")
        assert len(proxy.requests) == asked
    assert known.judge(caught.value).transient == (asked == 4)
