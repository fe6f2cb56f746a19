"""A backoff inside the HTTP client of openai, anthropic and groq, in place of their own retries."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import anthropic
import groq
import httpx
import httpx2
import openai
import pytest

from ixbackoff import N3, Misuse, backoff
from ixbackoff.clients import transport
from ixbackoff.schedules import Constant
from ixbackoff.testing import no_waits
from ixbackoff.testing.web import Fault, Origin, Status

patiently = backoff(N3, schedule=Constant(1))
PROMPT: Any = [{"role": "user", "content": "Where are the acorns?"}]
MESSAGE = {"role": "assistant", "content": "under the oak"}
CHOICE = {"index": 0, "finish_reason": "stop", "message": MESSAGE}
COMPLETION = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
CHAT = {**COMPLETION, "choices": [CHOICE]}
CONTENT = {"type": "text", "text": "under the oak"}
USAGE = {"input_tokens": 1, "output_tokens": 1}
TEXT = {"id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn"}
WHOLE = {**TEXT, "content": [CONTENT], "stop_sequence": None, "usage": USAGE}


def library_of(sdk: Any) -> Any:
    """Return the HTTP library of an SDK."""
    base = sdk.DefaultHttpxClient.__mro__
    return httpx2 if any(kind.__module__.startswith("httpx2") for kind in base) else httpx


def ask(sdk: Any, url: str) -> str:
    kind = {openai: "OpenAI", anthropic: "Anthropic", groq: "Groq"}[sdk]
    with library_of(sdk).Client(transport=transport(patiently)) as inside:
        options = {"base_url": url, "api_key": "sesame", "max_retries": 0, "http_client": inside}
        client = getattr(sdk, kind)(**options)
        if sdk is anthropic:
            made = client.messages.create(model="m", max_tokens=9, messages=PROMPT)
            return str(made.content[0].text)
        return str(
            client.chat.completions.create(model="m", messages=PROMPT).choices[0].message.content
        )


async def ask_async(sdk: Any, url: str) -> str:
    kind = {openai: "AsyncOpenAI", anthropic: "AsyncAnthropic", groq: "AsyncGroq"}[sdk]
    async with library_of(sdk).AsyncClient(transport=transport(patiently)) as inside:
        options = {"base_url": url, "api_key": "sesame", "max_retries": 0, "http_client": inside}
        client = getattr(sdk, kind)(**options)
        if sdk is anthropic:
            made = await client.messages.create(model="m", max_tokens=9, messages=PROMPT)
            return str(made.content[0].text)
        answer = await client.chat.completions.create(model="m", messages=PROMPT)
        return str(answer.choices[0].message.content)


def ask_in_loop(sdk: Any, url: str) -> str:
    return asyncio.run(ask_async(sdk, url))


each_sdk = pytest.mark.parametrize("sdk", [openai, anthropic, groq], ids=lambda it: it.__name__)
each_kind = pytest.mark.parametrize("asks", [ask, ask_in_loop], ids=["sync", "async"])
Asks = Callable[[Any, str], str]


def script(sdk: Any, *faults: Fault) -> Origin:
    body = json.dumps(WHOLE if sdk is anthropic else CHAT).encode()
    well = Status(200, headers={"Content-Type": "application/json"}, body=body)
    paths = "/v1/messages", "/chat/completions", "/openai/v1/chat/completions"
    return Origin({}, {f"POST {path}": [*faults, well] for path in paths})


@each_sdk
@each_kind
def test_a_prompt_is_sent_again(sdk: Any, asks: Asks) -> None:
    with script(sdk, Status(503), Status(429, retry_after=2)) as origin, no_waits() as ours:
        assert asks(sdk, origin.url) == "under the oak"
    assert (len(origin.requests), ours.waited) == (3, [1.0, 2.0])


@each_sdk
@each_kind
def test_the_last_answer_is_a_failure_of_the_sdk(sdk: Any, asks: Asks) -> None:
    slow = Status(429, body=b'{"error": {"message": "slowly"}}')
    with script(sdk, *[slow] * 4) as origin, no_waits(), pytest.raises(sdk.RateLimitError):
        asks(sdk, origin.url)
    assert len(origin.requests) == 4


@each_sdk
def test_a_decorated_function_around_it_is_rejected(sdk: Any) -> None:
    named = r"POST 127.0.0.1 \(backoff N3\) was called inside ask"
    with script(sdk) as origin, pytest.raises(Misuse, match=named):
        backoff(N3)(ask)(sdk, origin.url)
    assert origin.requests == []
