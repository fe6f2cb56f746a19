"""Retries in several services: how many requests reach the one at the bottom."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import N0, N1, N2, N3, Constant, DeadlineExceeded, at, backoff, call_async
from ixbackoff.live import live_async
from ixbackoff.middleware import asgi

from ..support.servers.layered_services import Bottom, asking, layer

TRIES = {1: N0, 2: N1, 3: N2, 4: N3}
QUICKLY = Constant(0.0)


def requests_at_the_bottom(layers: int, k: int, marked: bool, **options: Any) -> int:
    """Return the number of requests at the bottom of layers of `k` tries, for one run on top."""
    again, within = options.pop("again", True), options.pop("within", None)
    tries = backoff(TRIES[k], schedule=QUICKLY, nested="once")
    bottom = Bottom(hangs=options.pop("hangs", False))
    app: Any = asgi(bottom, **options) if marked else bottom
    for _ in range(layers - 1):
        app = layer(asking(app, tries, marked, again=again))
        app = asgi(app, **options) if marked else app

    async def run() -> None:
        with suppress(httpx.HTTPError, DeadlineExceeded):
            await asking(app, tries.replace(each=within), marked, again=again)()

    asyncio.run(run())
    return len(bottom.headers)


both = given(st.integers(1, 3), st.integers(1, 4))


@both
def test_without_a_middleware_they_multiply(layers: int, k: int) -> None:
    assert requests_at_the_bottom(layers, k, marked=False) == k**layers


@both
def test_who_has_tried_in_vain_says_so_and_is_not_asked_again(layers: int, k: int) -> None:
    assert requests_at_the_bottom(layers, k, marked=True, again=False) == k
    assert requests_at_the_bottom(layers, k, marked=True, again=False, say=False) == k**layers


@given(st.integers(1, 3), st.integers(1, 4), st.sampled_from(["nested", "once"]))
def test_with_a_mark_only_the_outermost_tries_again(layers: int, k: int, inner: str) -> None:
    assert requests_at_the_bottom(layers, k, marked=True, inner=inner) == k


@both
def test_with_the_last_try_each_layer_has_its_turn(layers: int, k: int) -> None:
    assert requests_at_the_bottom(layers, k, marked=True, inner="last") == 1 + layers * (k - 1)


@pytest.mark.parametrize(("options", "requests"), [({"again": False}, 4), ({}, 4)], ids=str)
def test_time_outs_are_heeded_by_all_layers(options: Any, requests: int) -> None:
    """Without the time in the header, the layers below go on when their caller has gone."""
    assert requests_at_the_bottom(3, 4, True, hangs=True, within=0.1, **options) == requests


@pytest.mark.parametrize("marked", [True, False])
def test_a_layer_that_does_not_retry_passes_the_no_up(marked: bool) -> None:
    bottom, tries = Bottom(), backoff(N3, schedule=QUICKLY)
    retrying = asgi(layer(asking(bottom, tries)))
    between = asgi(layer(asking(retrying, None, marked)))
    with suppress(httpx.HTTPError):
        asyncio.run(asking(between, tries, again=False)())
    assert len(bottom.headers) == (4 if marked else 16)


def test_a_layer_that_does_not_retry_passes_the_mark_down() -> None:
    bottom, tries = Bottom(), backoff(N3, schedule=QUICKLY, within=60)
    between = asgi(layer(asking(bottom, None)))
    with suppress(httpx.HTTPError):
        asyncio.run(asking(between, tries)())
    first, *_, last = bottom.said
    assert first.startswith("n=1, more=3, left=59.")
    assert last.startswith("n=4, more=0, left=59.")


def test_a_call_at_n0_in_a_marked_layer_hides_nothing() -> None:
    bottom, tries = Bottom(), backoff(N3, schedule=QUICKLY, nested="once")
    ask, none = asking(bottom, tries), backoff(N0)(asyncio.sleep)

    async def both_calls() -> None:
        await none(0)
        await ask()

    with suppress(httpx.HTTPError):
        asyncio.run(asking(asgi(layer(both_calls)), tries)())
    assert len(bottom.headers) == 4


def test_a_program_marks_what_it_repeats_and_nothing_else() -> None:
    bottom = Bottom()
    ask = asking(bottom, None)

    async def quietly() -> None:
        with suppress(httpx.HTTPError):
            await ask()

    program = at(N2).do(call_async(quietly)).retry(call_async(ask))

    async def run() -> None:
        await program.run_async(live_async(), schedule=QUICKLY)

    with suppress(httpx.HTTPError):
        asyncio.run(run())
    assert bottom.said == ["", "n=1, more=2", "n=2, more=1", "n=3, more=0"]
