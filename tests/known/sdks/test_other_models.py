"""Failures of SDKs of models that have classes of their own, or call another SDK."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from ixbackoff.testing.web import Hang, Lost, Status

from . import calls
from .answers import LIMITED, status
from .trying import Stream, outcome


def stream_cohere(url: str) -> object:
    import cohere

    client = cohere.ClientV2(api_key="sesame", base_url=url)
    off: Any = {"max_retries": 0}
    return list(client.chat_stream(model="m", messages=calls.PROMPT, request_options=off))


def stream_genai(url: str) -> object:
    from google.genai import Client

    with Client(api_key="sesame", http_options={"base_url": url}) as client:
        return list(client.models.generate_content_stream(model="m", contents="Where?"))


def stream_langchain(url: str) -> object:
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(model="m", base_url=url, api_key="sesame", max_retries=0)
    return list(model.stream("Where?"))


def stream_litellm(url: str) -> object:
    import litellm

    litellm.suppress_debug_info = True
    asked: Any = {"messages": calls.PROMPT, "api_base": url, "api_key": "sesame"}
    return list(litellm.completion(model="openai/m", stream=True, max_retries=0, **asked))


def stream_mistral(url: str) -> object:
    from mistralai.client import Mistral

    with Mistral(api_key="sesame", server_url=url) as client:
        return list(client.chat.stream(model="m", messages=calls.PROMPT))


class Model(NamedTuple):
    """An SDK: a call, a call for a stream, and the first item of the stream."""

    call: Callable[..., Any]
    stream: Callable[[str], Any] | None = None
    first: bytes = b""


DELTA = b'"delta": {"role": "assistant", "content": "a"}'
CHUNK = (
    b"""data: {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", \
"choices": [{"index": 0, "finish_reason": null, %s}]}\n\n"""
    % DELTA
)
COHERE = b'data: {"type": "content-delta", "index": 0, "delta": {"message": {"content": {}}}}\n\n'
GEMINI = b'data: {"candidates": [{"content": {"role": "model", "parts": [{"text": "a"}]}}]}\n\n'
MODELS = [
    Model(calls.ask_cohere, stream_cohere, COHERE),
    Model(calls.ask_genai, stream_genai, GEMINI),
    Model(calls.ask_instructor),
    Model(calls.ask_langchain, stream_langchain, CHUNK),
    Model(calls.ask_litellm, stream_litellm, CHUNK),
    Model(calls.ask_mistral, stream_mistral, CHUNK),
]
each_model = pytest.mark.parametrize(
    "model", MODELS, ids=lambda model: model.call.__name__.removeprefix("ask_")
)


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")


@each_model
@pytest.mark.parametrize(("answer", "wait"), LIMITED)
def test_the_service_says_when(model: Model, answer: Status, wait: float) -> None:
    ended = outcome(model.call, answer)
    assert (ended.requests, ended.waits) == (3, [wait, wait])


@each_model
def test_a_quota_that_has_ended(model: Model) -> None:
    error = {"message": "no", "type": "insufficient_quota", "code": "insufficient_quota"}
    ended = outcome(model.call, status(429, {"error": error} | error))
    assert ended.requests == 1, ended
    assert ended.why.endswith(": insufficient_quota, which lasts until somebody pays")


@each_model
@pytest.mark.parametrize("number", [400, 401, 403, 422])
def test_a_wrong_request(model: Model, number: int) -> None:
    assert outcome(model.call, status(number, {"error": {"message": "no"}})).requests == 1


@each_model
@pytest.mark.parametrize("fault", [Lost(), Hang()], ids=repr)
def test_a_lost_answer(model: Model, fault: Any) -> None:
    limit = 0.3 if fault == Hang() else 20.0
    assert outcome(lambda url: model.call(url, timeout=limit), fault).requests == 3


@each_model
@pytest.mark.parametrize("items", [0, 1])
def test_a_stream_that_breaks_off(model: Model, items: int) -> None:
    if model.stream is not None:
        assert outcome(model.stream, Stream(model.first * items)).requests == 3
