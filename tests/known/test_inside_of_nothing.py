"""Nothing is said of retries inside a try where there are none: a thousand failures of others."""

from __future__ import annotations

import sys
from collections.abc import Callable
from random import Random
from typing import Any

import aiohttp
import asyncpg
import boto3  # type: ignore[import-untyped]
import httpx
import pymongo
import redis
import requests
import sqlalchemy

from ixbackoff import known
from ixbackoff.known.inner_retries import NAMES

LIBRARIES = (aiohttp, asyncpg, boto3, httpx, pymongo, redis, requests, sqlalchemy)
FUNCTIONS = sorted(NAMES | {"fetch", "send", "<lambda>"})
MODULES = ["acorns", "acorns._base_client", "httpx._client", "openai", "tenacity_like", "urllib3"]
VARIABLES = ["retries_taken", "attempt", "attempts", "tries", "retry_state", "n"]
ANSWERS: list[Any] = [
    None,
    "busy",
    {},
    {"ResponseMetadata": None},
    {"ResponseMetadata": {"RetryAttempts": 0}},
    {"ResponseMetadata": {"RetryAttempts": "twice"}},
    {"RetryAttempts": 4},
]


def kinds() -> list[type[Exception]]:
    """Return the exceptions of these libraries and of Python that can be made without arguments."""
    found: list[type[Exception]] = []
    waiting: list[type[Exception]] = [Exception]
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        package = str(kind.__module__).partition(".")[0]  # a test of ours has one without any
        if package in {library.__name__ for library in LIBRARIES} | sys.stdlib_module_names:
            found.append(kind)
    return sorted(set(found), key=lambda kind: (kind.__module__, kind.__qualname__))


def made(random: Random, kind: type[Exception]) -> Exception | None:
    try:
        failure = kind()
        failure.response = random.choice(ANSWERS)  # type: ignore[attr-defined]
    except Exception:  # it needs arguments, or takes no attributes
        return None
    return failure


def framed(random: Random, inner: Callable[[], object]) -> Callable[[], object]:
    """Put a call into a function that is named as a loop is, and counts as it does."""
    name = random.choice(FUNCTIONS)
    module: dict[str, Any] = {"__name__": random.choice(MODULES), "inner": inner}
    counts = f"{random.choice(VARIABLES)} = {random.randrange(5)}"
    source = f"def f():\n    {counts}\n    return inner()"
    code = compile(source, "acorns.py", "exec")
    exec(code, module)  # noqa: S102
    function: Any = module["f"]
    function.__code__ = function.__code__.replace(co_name=name)
    return function  # type: ignore[no-any-return]


def raised(random: Random, failure: Exception, cause: Exception | None) -> Exception:
    def fail() -> None:
        if cause is not None and random.random() < 0.5:
            raise failure from cause
        raise failure

    call: Callable[[], object] = fail
    for _ in range(random.randrange(6)):
        call = framed(random, call)
    try:
        call()
    except Exception as caught:
        return caught
    raise AssertionError


def test_a_thousand_failures_of_others() -> None:
    random = Random(0)  # noqa: S311
    pool = kinds()
    judged = set()
    cause: Exception | None = None
    for _ in range(1000):
        failure = None
        while failure is None:
            failure = made(random, random.choice(pool))
        if cause is failure:
            cause = None
        cause = raised(random, failure, cause)
        judged.add(type(cause).__module__.partition(".")[0])
        assert known.inner(cause) == [], (cause, cause.__traceback__)
    assert len(judged) > 10
