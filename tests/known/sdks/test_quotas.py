"""What a limiter learns of the failures of SDKs, without a hook."""

from __future__ import annotations

import asyncio
from typing import Any

import anthropic
import groq
import openai
import pytest

from ixbackoff import Limiter

from ...support.servers.busy import Said, busy

HEADERS = (("RateLimit", '"a";r=0;t=30'), ("RateLimit-Policy", '"a";q=10;w=20'))


def models_of(kind: Any, url: str) -> None:
    with kind(base_url=url, api_key="sesame", max_retries=0) as client:
        client.models.list()


def models_of_async(kind: Any, url: str) -> None:
    async def ask() -> None:
        async with kind(base_url=url, api_key="sesame", max_retries=0) as client:
            await client.models.list()

    asyncio.run(ask())


@pytest.mark.parametrize("status", [429, 503, 404])
@pytest.mark.parametrize("library", [openai, anthropic, groq], ids=lambda one: one.__name__)
def test_a_used_up_quota_closes_it_and_a_policy_is_its_rate(library: Any, status: int) -> None:
    name = "OpenAI" if library is openai else library.__name__.title()
    for ask, kind in ((models_of, name), (models_of_async, f"Async{name}")):
        with busy(Said(status, headers=HEADERS)) as server, pytest.raises(Exception) as caught:  # noqa: PT011
            ask(getattr(library, kind), server.url)
        limiter = Limiter(line=1e6)
        assert isinstance(caught.value, Exception)
        limiter.hear(caught.value, 0.0, 0.0)
        turns = [limiter.enter(0.0, 0.0, 1e9) for _ in range(2)]
        assert turns == [30.0, 32.0]
