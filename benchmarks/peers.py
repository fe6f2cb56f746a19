"""The same job for each retry library: at most 11 tries, on `ConnectionError`, no log, a decorator.

Sleeps take no time here. The logger of ixbackoff, which by default logs each wait as a warning, is
switched off while sleeps are replaced. The libraries are imported by name at run time: type
checkers and tests do without them, and they must not be imported before the sleeps are replaced.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, TypeAlias

from ixbackoff import N10, CircuitBreaker, Constant, Exponential, backoff

Function: TypeAlias = Callable[[], Any]
Decorator: TypeAlias = Callable[[Function], Function]
Kinds: TypeAlias = dict[str, Decorator]

TRIES = 11
CONSTANT, EXPONENTIAL, JITTERED = KINDS = ("wait 0", "exponential", "with jitter")
WAITS = {
    CONSTANT: [0.0] * 10,
    EXPONENTIAL: [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0, 60.0],
}

OURS = "ixbackoff"
LIMITS = ("plain call", "bare loop")
NO_LIMIT_OF_TRIES = ("google-api-core 2.44.0",)


def no_sleep(seconds: float) -> None:
    """Wait, in no time."""


async def no_sleep_async(seconds: float) -> None:
    """Wait, in no time."""


@contextmanager
def sleeping_with(sync: Any, awaited: Any) -> Generator[None]:
    """Replace `time.sleep` and `asyncio.sleep` in this block, and log no waits."""
    before, logger = (time.sleep, asyncio.sleep), logging.getLogger(OURS)
    level = logger.level
    time.sleep, asyncio.sleep = sync, awaited
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        time.sleep, asyncio.sleep = before
        logger.setLevel(level)


def bare(kind: str) -> Decorator:
    """Retry by a loop as one would write it by hand."""

    def decorator(function: Function) -> Function:
        def looped() -> Any:
            seconds = 0.0 if kind == CONSTANT else 1.0
            tries = 1
            while True:
                try:
                    return function()
                except ConnectionError:
                    if tries == TRIES:
                        raise
                tries += 1
                if kind == CONSTANT:
                    time.sleep(seconds)
                    continue
                time.sleep(seconds * random.uniform(1, 2) if kind == JITTERED else seconds)  # noqa: S311
                seconds = min(seconds * 2, 60.0)

        return looped

    return decorator


def bare_async(kind: str) -> Decorator:
    """Retry a coroutine function by a loop as one would write it by hand."""

    def decorator(function: Function) -> Function:
        async def looped() -> Any:
            seconds = 0.0 if kind == CONSTANT else 1.0
            tries = 1
            while True:
                try:
                    return await function()
                except ConnectionError:
                    if tries == TRIES:
                        raise
                tries += 1
                if kind == CONSTANT:
                    await asyncio.sleep(seconds)
                    continue
                await asyncio.sleep(seconds * random.uniform(1, 2) if kind == JITTERED else seconds)  # noqa: S311
                seconds = min(seconds * 2, 60.0)

        return looped

    return decorator


def ours(breaker: CircuitBreaker | None = None) -> Kinds:
    exponential = Exponential(cap=60)
    schedules = (Constant(0), exponential, exponential.jittered())
    return {
        kind: backoff(N10, on=ConnectionError, schedule=schedule, breaker=breaker)
        for kind, schedule in zip(KINDS, schedules, strict=True)
    }


def tenacity() -> Kinds:
    it = import_module("tenacity")
    waits = (it.wait_none(), it.wait_exponential(max=60), it.wait_random_exponential(max=60))
    return {
        kind: it.retry(
            retry=it.retry_if_exception_type(ConnectionError),
            stop=it.stop_after_attempt(TRIES),
            wait=wait,
            reraise=True,
        )
        for kind, wait in zip(KINDS, waits, strict=True)
    }


def stamina() -> Kinds:
    it = import_module("stamina")
    import_module("stamina.instrumentation").set_on_retry_hooks([])

    def of(**waits: float) -> Decorator:
        decorator: Decorator = it.retry(
            on=ConnectionError, attempts=TRIES, timeout=None, wait_exp_base=2, **waits
        )
        return decorator

    return {
        CONSTANT: of(wait_initial=0.0, wait_max=0.0, wait_jitter=0.0),
        EXPONENTIAL: of(wait_initial=1.0, wait_max=60.0, wait_jitter=0.0),
        JITTERED: of(wait_initial=1.0, wait_max=60.0, wait_jitter=1.0),
    }


def backoff_peer() -> Kinds:
    it = import_module("backoff")

    def of(waits: Any, jitter: Any, **settings: float) -> Decorator:
        decorator: Decorator = it.on_exception(
            waits, ConnectionError, max_tries=TRIES, jitter=jitter, logger=None, **settings
        )
        return decorator

    return {
        CONSTANT: of(it.constant, None, interval=0),
        EXPONENTIAL: of(it.expo, None, max_value=60),
        JITTERED: of(it.expo, it.full_jitter, max_value=60),
    }


def opnieuw() -> Kinds:
    """Retry with full jitter, which this library always has."""
    return {
        JITTERED: import_module("opnieuw").retry(
            retry_on_exceptions=ConnectionError,
            max_calls_total=TRIES,
            retry_window_after_first_call_in_seconds=1023,
        )
    }


def google(name: str) -> Kinds:
    """Retry with full jitter, without a limit of time, which would make this library slower."""
    it = import_module("google.api_core.retry")
    return {
        JITTERED: getattr(it, name)(
            predicate=it.if_exception_type(ConnectionError), initial=1.0, maximum=60.0, timeout=None
        )
    }


def pyresilience(**settings: Any) -> Kinds:
    it = import_module("pyresilience")

    def of(delay: float, factor: float, jitter: bool) -> Decorator:
        config = it.RetryConfig(
            max_attempts=TRIES,
            delay=delay,
            backoff_factor=factor,
            jitter=jitter,
            retry_on=(ConnectionError,),
        )
        decorator: Decorator = it.resilient(retry=config, **settings)
        return decorator

    return {
        CONSTANT: of(0.0, 1.0, False),
        EXPONENTIAL: of(1.0, 2.0, False),
        JITTERED: of(1.0, 2.0, True),
    }


def hyx() -> Kinds:
    """Retry with `attempts`, which do not count the first try in this library."""
    retry = import_module("hyx.retry").retry
    expo = import_module("hyx.retry.backoffs").expo
    full = import_module("hyx.retry.jitters").full

    def of(backoff: Any) -> Decorator:
        decorator: Decorator = retry(on=ConnectionError, attempts=TRIES - 1, backoff=backoff)
        return decorator

    return {
        CONSTANT: of(0),
        EXPONENTIAL: of(expo(max_delay_secs=60)),
        JITTERED: of(expo(max_delay_secs=60, jitter=full)),
    }


NEVER = 10_000
"""Failures after which a breaker opens, in a row or within a millisecond: never, here."""


def our_breaker() -> Kinds:
    return ours(CircuitBreaker(failures=NEVER, within=0.001, open_for=30))


def pyresilience_breaker() -> Kinds:
    config = import_module("pyresilience").CircuitBreakerConfig
    return pyresilience(
        circuit_breaker=config(failure_threshold=NEVER, error_types=(ConnectionError,))
    )


def hyx_breaker() -> Kinds:
    """Retry around a breaker, which is a decorator of its own in this library."""
    breaker = import_module("hyx.circuitbreaker").consecutive_breaker

    def guarded(retry: Decorator) -> Decorator:
        guard = breaker(exceptions=ConnectionError, failure_threshold=NEVER)
        return lambda function: retry(guard(function))

    return {kind: guarded(retry) for kind, retry in hyx().items()}


def sync_breakers() -> dict[str, Kinds]:
    return {
        "plain call": {},
        OURS: our_breaker(),
        "pyresilience 0.4.1": pyresilience_breaker(),
    }


def async_breakers() -> dict[str, Kinds]:
    return sync_breakers() | {"hyx 0.0.2": hyx_breaker()}


def sync_libraries() -> dict[str, Kinds]:
    return {
        "plain call": {},
        "bare loop": {kind: bare(kind) for kind in KINDS},
        OURS: ours(),
        "pyresilience 0.4.1": pyresilience(),
        "opnieuw 4.0.0": opnieuw(),
        "google-api-core 2.44.0": google("Retry"),
        "backoff 2.2.1": backoff_peer(),
        "tenacity 9.2.1": tenacity(),
        "stamina 26.1.0": stamina(),
    }


def async_libraries() -> dict[str, Kinds]:
    return {
        "plain call": {},
        "bare loop": {kind: bare_async(kind) for kind in KINDS},
        OURS: ours(),
        "pyresilience 0.4.1": pyresilience(),
        "hyx 0.0.2": hyx(),
        "opnieuw 4.0.0": opnieuw(),
        "google-api-core 2.44.0": google("AsyncRetry"),
        "backoff 2.2.1": backoff_peer(),
        "tenacity 9.2.1": tenacity(),
        "stamina 26.1.0": stamina(),
    }
