"""What a limiter learns of the failures of real clients, without a hook."""

from __future__ import annotations

import time
from contextlib import closing
from typing import Any

import boto3  # type: ignore[import-untyped]
import pytest
from botocore.config import Config  # type: ignore[import-untyped]

from ixbackoff import Limiter

from ..support.clients.web import Client, raising_clients
from ..support.servers.busy import Said, busy

USED_UP = {
    "RateLimit": (("RateLimit", '"a";r=0;t=30'),),
    "earlier drafts": (("ratelimit-remaining", "0"), ("ratelimit-reset", "30")),
    "X-RateLimit": (("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "30")),
    "X-Rate-Limit": (("X-Rate-Limit-Remaining", "0"), ("X-Rate-Limit-Reset", "30")),
    "since 1970": (("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "{}")),
}


def used_up(kind: str) -> tuple[tuple[str, str], ...]:
    """The headers of a kind, with an hour from now in place of `{}`."""
    return tuple((name, text.format(int(time.time()) + 3600)) for name, text in USED_UP[kind])


POLICY = ("RateLimit-Policy", '"a";q=10;w=20')


def turns_after(failure: BaseException) -> list[float]:
    """The turns that a limiter without a rate gives after it has heard a failure."""
    assert isinstance(failure, Exception)
    limiter = Limiter(line=1e6)
    limiter.hear(failure, 0.0, 0.0)
    return [limiter.enter(0.0, 0.0, 1e9) for _ in range(2)]


@raising_clients
@pytest.mark.parametrize("kind", USED_UP)
@pytest.mark.parametrize("status", [429, 503, 404])
def test_a_quota_that_is_used_up_closes_it(client: Client, kind: str, status: int) -> None:
    with busy(Said(status, headers=used_up(kind))) as server, pytest.raises(Exception) as caught:  # noqa: PT011
        client.ask("GET", server.url, {})
    seconds = 3600 if kind == "since 1970" else 30
    assert 0.8 * seconds < turns_after(caught.value)[0] <= seconds


@raising_clients
def test_a_policy_is_its_rate(client: Client) -> None:
    headers = (("RateLimit", '"a";r=4;t=7'), POLICY)
    with busy(Said(404, headers=headers)) as server, pytest.raises(Exception) as caught:  # noqa: PT011
        client.ask("GET", server.url, {})
    assert turns_after(caught.value) == [0.0, 2.0]


@pytest.mark.parametrize("kind", USED_UP)
def test_a_quota_of_an_object_store(kind: str) -> None:
    alone = Config(retries={"total_max_attempts": 1}, s3={"addressing_style": "path"}, proxies={})
    secrets = {"aws_access_key_id": "acorn", "aws_secret_access_key": "oak"}
    with busy(Said(503, headers=used_up(kind))) as server:
        store = boto3.client(
            "s3", endpoint_url=server.url, region_name="us-east-1", config=alone, **secrets
        )
        with closing(store), pytest.raises(Exception) as caught:  # noqa: PT011
            store.get_object(Bucket="nuts", Key="acorn")
    assert turns_after(caught.value)[0] > 25


def test_an_answer_with_a_property_that_raises_teaches_nothing() -> None:
    class Odd(Exception):
        @property
        def response(self) -> Any:
            raise RuntimeError

    assert turns_after(Odd()) == [0.0, 0.0]
