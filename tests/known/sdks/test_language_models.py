"""The programs of the page on language models, with the real SDKs."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Awaitable, Callable
from json import dumps
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import openai
import pytest
import tenacity

from ixbackoff import N9, Exponential, backoff
from ixbackoff.testing import no_waits
from ixbackoff.testing.web import Answer, Fault, ReceivedRequest, Status

from . import limited
from .limited import Limited, run_virtually
from .trying import FailingEverywhere, Stream

PAGE = Path(__file__).parents[3] / "docs" / "language-models.md"
PROMPTS = [f"Where is acorn {number}?" for number in range(40)]
ANSWER = b"""{"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [
    {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "there"}}]}"""
Ask = Callable[[str], Awaitable[object]]


class Batch(NamedTuple):
    answered: int
    requests: int
    seconds: float


def program(name: str) -> dict[str, Any]:
    """Run a program of the page, and return its names."""
    [text] = re.findall(
        rf"^```python {name}\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE
    )
    names: dict[str, Any] = {"__name__": name}
    exec(compile(text, name, "exec", dont_inherit=True), names)  # noqa: S102
    return names


def plain(names: dict[str, Any], max_retries: int) -> Ask:
    """Return the function of the page without its decorator, with retries of the SDK."""
    names["client"] = names["client"].with_options(max_retries=max_retries)
    asked: Ask = names["ask"].__wrapped__
    return asked


COOKBOOK: Any = tenacity.retry(
    wait=tenacity.wait_random_exponential(min=1, max=60), stop=tenacity.stop_after_attempt(6)
)
"""The retries of the SDK's cookbook, which retry any failure."""

WAYS: list[Callable[[dict[str, Any]], Ask]] = [
    lambda names: plain(names, 2),
    lambda names: plain(names, 9),
    lambda names: COOKBOOK(plain(names, 0)),
    lambda names: names["ask"],
    lambda names: backoff(N9, schedule=Exponential(1).jittered(2))(plain(names, 0)),
]
"""The rows of the table, from the top."""

SDK, SDK_9, TENACITY, LADDER, JITTERED = range(5)


def batch(
    way: int, monkeypatch: pytest.MonkeyPatch, says: Callable[[float], str], seed: int
) -> Batch:
    """Ask all prompts in one of these ways, with the function of the page that asks them."""

    async def main() -> Batch:
        service = Limited(5, ANSWER, says)
        async with service.serving():
            monkeypatch.setenv("OPENAI_BASE_URL", service.url)
            names, clock = program("batch.py"), asyncio.get_running_loop().time
            ask, begin = WAYS[way](names), clock()

            async def answered(prompt: str) -> bool:
                try:
                    return await ask(prompt) == "there"
                except (openai.RateLimitError, tenacity.RetryError):
                    return False

            names["ask"] = answered
            well = await names["ask_all"](PROMPTS)
            await names["client"].close()
            return Batch(sum(well), service.answered + service.refused, clock() - begin)

    random.seed(seed)
    return run_virtually(main)


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sesame")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sesame")


@pytest.mark.parametrize("says", [limited.silent, limited.retry_after, limited.reset])
def test_a_batch_is_answered_in_no_more_requests_than_the_sdk_makes(
    says: Callable[[float], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    by_way = [batch(way, monkeypatch, says, 0) for way in range(len(WAYS))]
    assert by_way[SDK].answered < 40
    assert [one.answered for one in by_way[SDK_9:]] == [40] * 4
    assert by_way[LADDER].requests <= by_way[SDK_9].requests
    assert by_way[JITTERED].requests <= by_way[TENACITY].requests


def test_the_table_is_what_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    figures = r" (\d+) of 40 \| (\d+) \| (\d+) \|" * 2
    rows = re.findall(rf"^\| .* \|{figures}$", PAGE.read_text(), re.MULTILINE)
    measured: list[list[float]] = [[] for _ in WAYS]
    for says in (limited.retry_after, limited.silent):
        for way, row in enumerate(measured):
            runs = [batch(way, monkeypatch, says, seed) for seed in range(5)]
            row += [median(found) for found in zip(*runs, strict=True)]
    written = [[float(figure) for figure in row] for row in rows]
    assert written == [pytest.approx(row, rel=0.1, abs=1) for row in measured]


class Answering(FailingEverywhere):
    """An origin that answers with this body after its script."""

    def __init__(self, kind: str, body: bytes, *script: Fault | None) -> None:
        super().__init__(*script, None)
        self.answer = Answer(200, {"Content-Type": kind}, body)

    def carry_out(self, request: ReceivedRequest) -> Answer:  # noqa: ARG002
        return self.answer


def test_what_is_left_of_the_deadline_is_the_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    with Answering("application/json", ANSWER, Status(429, retry_after="7")) as origin:
        monkeypatch.setenv("OPENAI_BASE_URL", origin.url)
        with no_waits() as waits:
            names = program("limited.py")
            assert names["ask"]("Where?") == "there"
        names["client"].close()
    assert waits.waited == [7.0]
    timeouts = [float(one.headers["x-stainless-read-timeout"]) for one in origin.requests]
    assert timeouts == [60.0, 60.0]


def events(*data: dict[str, Any]) -> bytes:
    return b"".join(
        b"event: %s\ndata: %s\n\n" % (e["type"].encode(), dumps(e).encode()) for e in data
    )


def test_a_stream_that_breaks_off_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "1", "type": "message", "role": "assistant", "content": [], "model": "m"}
    begin: list[dict[str, Any]] = [
        {"type": "message_start", "message": message | {"usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": "under the "},
        },
    ]
    rest = {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": "oak"},
    }
    body = events(
        *begin, rest, {"type": "content_block_stop", "index": 0}, {"type": "message_stop"}
    )
    with Answering("text/event-stream", body, Stream(events(*begin)), Stream(b"")) as origin:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", origin.url)
        names = program("stream.py")
        with no_waits():
            assert names["told"]("Where?") == "under the oak"
        names["client"].close()
    assert len(origin.requests) == 3
