"""Failures of openai, anthropic and groq: three SDKs of one make, each sync and async."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import anthropic
import groq
import openai
import pytest

from ixbackoff import known
from ixbackoff.testing.web import Dropped, Fault, Hang, Lost, Reset, Status, Truncated

from .answers import LIMITED, status
from .trying import Call, Stream, outcome, tried

PROMPT: Any = [{"role": "user", "content": "Where are the acorns?"}]
OVERLOADED = b'{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}'


class Sdk(NamedTuple):
    """An SDK: its name, and functions that make a call with a limited number of its own retries."""

    name: str
    complete: Callable[..., Call]
    stream: Callable[..., Call]
    first: bytes
    broken: bytes

    @property
    def library(self) -> str:
        return self.name.partition(" ")[0]


def options(url: str, retries: int | None) -> dict[str, Any]:
    own = {} if retries is None else {"max_retries": retries}
    return {"base_url": url, "api_key": "sesame", "timeout": 20.0, **own}


def by_chat(client: Callable[..., Any]) -> Callable[..., Call]:
    def complete(retries: int | None = 0, **more: Any) -> Call:
        def ask(url: str) -> Any:
            with client(**options(url, retries)) as made:
                answer = made.chat.completions.create(model="m", messages=PROMPT, **more)
                return list(answer) if "stream" in more else answer

        return ask

    return complete


def by_chat_async(client: Callable[..., Any]) -> Callable[..., Call]:
    def complete(retries: int | None = 0, **more: Any) -> Call:
        async def ask(url: str) -> Any:
            async with client(**options(url, retries)) as made:
                answer = await made.chat.completions.create(model="m", messages=PROMPT, **more)
                return [item async for item in answer] if "stream" in more else answer

        return ask

    return complete


def by_messages(retries: int | None = 0, **more: Any) -> Call:
    def ask(url: str) -> Any:
        with anthropic.Anthropic(**options(url, retries)) as made:
            answer: Any = made.messages.create(model="m", max_tokens=9, messages=PROMPT, **more)
            return list(answer) if "stream" in more else answer

    return ask


def by_messages_async(retries: int | None = 0, **more: Any) -> Call:
    async def ask(url: str) -> Any:
        async with anthropic.AsyncAnthropic(**options(url, retries)) as made:
            answer: Any = await made.messages.create(
                model="m", max_tokens=9, messages=PROMPT, **more
            )
            return [item async for item in answer] if "stream" in more else answer

    return ask


def streamed(complete: Callable[..., Call]) -> Callable[..., Call]:
    return lambda: complete(stream=True)


def sdk(name: str, complete: Callable[..., Call], first: bytes, broken: bytes) -> Sdk:
    return Sdk(name, complete, streamed(complete), first, broken)


CHUNK = b'data: {"id": "1", "object": "chat.completion.chunk", "choices": []}\n\n'
CHAT_ERROR = b'event: error\ndata: {"error": {"type": "server_error", "message": "sorry"}}\n\n'
DELTA = b'event: content_block_stop\ndata: {"type": "content_block_stop", "index": 0}\n\n'
SDKS = [
    sdk("openai sync", by_chat(openai.OpenAI), CHUNK, CHAT_ERROR),
    sdk("openai async", by_chat_async(openai.AsyncOpenAI), CHUNK, CHAT_ERROR),
    sdk("groq sync", by_chat(groq.Groq), CHUNK, CHAT_ERROR),
    sdk("groq async", by_chat_async(groq.AsyncGroq), CHUNK, CHAT_ERROR),
    sdk("anthropic sync", by_messages, DELTA, b"event: error\ndata: %s\n\n" % OVERLOADED),
    sdk("anthropic async", by_messages_async, DELTA, b"event: error\ndata: %s\n\n" % OVERLOADED),
]
each_sdk = pytest.mark.parametrize("sdk", SDKS, ids=lambda sdk: sdk.name)


@each_sdk
@pytest.mark.parametrize(("answer", "wait"), LIMITED)
def test_the_service_says_when(sdk: Sdk, answer: Status, wait: float) -> None:
    ended = outcome(sdk.complete(), answer)
    assert (ended.requests, ended.waits) == (3, [wait, wait])


@each_sdk
@pytest.mark.parametrize("number", [408, 409, 425, 500, 502, 503, 504, 520, 529])
def test_what_the_sdk_repeats_is_tried_again(sdk: Sdk, number: int) -> None:
    assert outcome(sdk.complete(), status(number)).requests == 3


@each_sdk
@pytest.mark.parametrize("number", [400, 401, 403, 404, 422])
def test_a_wrong_request_is_not(sdk: Sdk, number: int) -> None:
    ended = outcome(sdk.complete(), status(number))
    assert ended.requests == 1
    assert ended.why == f"{sdk.library}.{ended.failure.__class__.__name__} {number}"


@each_sdk
def test_the_service_decides(sdk: Sdk) -> None:
    assert outcome(sdk.complete(), status(400, x_should_retry="true")).requests == 3
    ended = outcome(sdk.complete(), status(429, x_should_retry="false"))
    assert ended.requests == 1
    assert ended.why == f"{sdk.library}.RateLimitError 429: the service says not to try again"


@each_sdk
@pytest.mark.parametrize(
    ("number", "error", "word"),
    [
        (429, {"type": "insufficient_quota", "code": None}, "insufficient_quota"),
        (429, {"type": "requests", "code": "insufficient_quota"}, "insufficient_quota"),
        (429, {"type": "x", "code": "billing_hard_limit_reached"}, "billing_hard_limit_reached"),
        (402, {"type": "billing_error"}, "billing_error"),
    ],
)
def test_a_quota_that_has_ended(sdk: Sdk, number: int, error: dict[str, str], word: str) -> None:
    ended = outcome(sdk.complete(), status(number, {"error": error}))
    assert ended.requests == 1
    assert ended.why.endswith(f": {word}, which lasts until somebody pays")


@each_sdk
@pytest.mark.parametrize("fault", [Reset(), Lost(), Hang(), Dropped(), Truncated(1)], ids=repr)
def test_a_lost_answer_is_asked_for_again(sdk: Sdk, fault: Fault) -> None:
    given = {"timeout": 0.3} if fault == Hang() else {}
    assert outcome(sdk.complete(**given), fault).requests == 3


@each_sdk
def test_no_server(sdk: Sdk) -> None:
    assert outcome(sdk.complete()).waits == [0.5, 0.5]


@each_sdk
def test_no_such_host(sdk: Sdk) -> None:
    ended = tried(sdk.complete(), "http://nuts.invalid")
    assert ended.waits == []
    assert ended.why.endswith(": the name of the host is not known")


@each_sdk
@pytest.mark.parametrize("items", [0, 1])
@pytest.mark.parametrize("error", [True, False])
def test_a_stream_that_breaks_off(sdk: Sdk, items: int, error: bool) -> None:
    """With an error as its last event, or in the middle: before its first item, and after it."""
    body = sdk.first * items + (sdk.broken if error else b"")
    assert outcome(sdk.stream(), Stream(body)).requests == 3


@each_sdk
def test_an_error_in_a_stream_that_stays(sdk: Sdk) -> None:
    body = sdk.broken.replace(b"overloaded_error", b"invalid").replace(b"server_error", b"invalid")
    ended = outcome(sdk.stream(), Stream(body))
    assert ended.requests == 1
    assert ended.why.endswith("is not known to pass by itself")


@each_sdk
def test_the_retries_of_the_sdk_are_told(sdk: Sdk) -> None:
    ended = outcome(sdk.complete(None), status(503))
    assert ended.requests == 9
    client = {"openai": "OpenAI", "groq": "Groq", "anthropic": "Anthropic"}[sdk.library]
    assert ended.told == [
        f"each try is up to 3 requests, because {sdk.library} tries 3 times inside it "
        f"(turn it off with {client}(max_retries=0))"
    ]
    assert known.inner(ended.failure) == [known.Inner(sdk.library, 3, f"{client}(max_retries=0)")]
    assert outcome(sdk.complete(0), status(503)).told == []
