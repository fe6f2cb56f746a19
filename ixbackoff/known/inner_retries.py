"""Retries of other libraries inside of one try, as tracebacks and answers show them.

A loop is found if its function is in the traceback of the failure or of a cause. The table below is
right for the versions that the tests install; a loop of another version can be missed.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

from .._words.judging import Inner
from .judge_helpers import frames
from .shapes import LONGEST_CHAIN, cause_of, quietly


class Loop(NamedTuple):
    library: str
    counter: str  # the path from a local variable of the loop to its count, such as `state.attempt`
    more: int  # the number of tries minus that count
    remedy: str  # the argument or setting that turns the loop off


URLLIB3 = "urllib3.connectionpool", "urlopen"
"""A function that calls itself for each try: each distinct frame in a traceback is a try."""

BOTOCORE = 'Config(retries={"total_max_attempts": 1})'
OPENSEARCH = Loop("opensearch", "attempt", 1, "max_retries=0")
TENACITY = Loop("tenacity", "retry_state.attempt_number", 0, "stop=stop_after_attempt(1)")
LOOPS: dict[tuple[str, str], Loop] = {
    **{
        (f"{sdk}._base_client", function): Loop(sdk, "retries_taken", 1, f"{client}(max_retries=0)")
        for sdk, client in (("anthropic", "Anthropic"), ("groq", "Groq"), ("openai", "OpenAI"))
        for function in ("_request", "request")
    },
    ("backoff._async", "retry"): Loop("backoff", "tries", 0, "max_tries=1"),
    ("backoff._sync", "retry"): Loop("backoff", "tries", 0, "max_tries=1"),
    ("botocore.endpoint", "_send_request"): Loop("botocore", "attempts", 0, BOTOCORE),
    ("opensearchpy._async.transport", "perform_request"): OPENSEARCH,
    ("opensearchpy.transport", "perform_request"): OPENSEARCH,
    ("stamina._core", "async_inner"): Loop("stamina", "attempt.num", 0, "attempts=1"),
    ("stamina._core", "sync_inner"): Loop("stamina", "attempt.num", 0, "attempts=1"),
    ("tenacity", "__call__"): TENACITY,
    ("tenacity.asyncio", "__call__"): TENACITY,
}
NAMES = {name for _, name in (*LOOPS, URLLIB3)}


def inner(failure: BaseException) -> list[Inner]:
    """Return the retries inside of the try that ended with a failure, the outermost first."""
    found: dict[str, Inner] = {}
    cause: Any = failure
    for _ in range(LONGEST_CHAIN):
        tries: set[object] = set()
        for frame in frames(cause):
            name = frame.f_code.co_name
            if name not in NAMES:
                continue
            place = frame.f_globals.get("__name__", ""), name
            if place == URLLIB3:
                tries.add(frame)
            if (loop := LOOPS.get(place)) is not None:
                add(found, loop.library, tries_of(loop, frame.f_locals), loop.remedy)
        add(found, "urllib3", len(tries), "retries=False")
        answer = quietly(cause, "response")
        if answer.__class__ is dict:
            with suppress(Exception):
                add(found, "botocore", answer["ResponseMetadata"]["RetryAttempts"] + 1, BOTOCORE)
        cause = cause_of(cause)
        if cause is None:
            break
    return [*found.values()]


def add(found: dict[str, Inner], library: str, tries: int, remedy: str) -> None:
    if tries > 1 and (library not in found or found[library].tries < tries):
        found[library] = Inner(library, tries, remedy)


def tries_of(loop: Loop, variables: Any) -> int:
    """Return the number of tries of a loop; 0 if another version of it counts in another way."""
    name, *attributes = loop.counter.split(".")
    with suppress(Exception):
        count = variables[name]
        for attribute in attributes:
            count = getattr(count, attribute)
        return int(count) + loop.more
    return 0
