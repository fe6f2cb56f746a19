"""Coroutine functions as commands."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ixbackoff import N0, N1, DeadlineExceeded, Misuse, at, call_async, do
from ixbackoff.live import live, live_async

from ..support.ways.libraries import PATIENT, SOON


def test_a_coroutine_function_is_awaited() -> None:
    async def double(number: int, *, more: int = 0) -> int:
        await asyncio.sleep(0)
        return 2 * number + more

    program = at(N1).retry(call_async(double, 4, more=1))
    assert asyncio.run(program.run_async(live_async())) == 9
    assert repr(call_async(double, 4, more=1)).endswith("double, 4, more=1)")
    assert call_async(double, 4) == call_async(double, 4)
    assert call_async(double, 4) != call_async(double, 5)


def test_a_coroutine_function_is_not_for_a_run_that_is_not_async() -> None:
    async def double(number: int) -> int:
        return 2 * number

    program: Any = at(N0).do(call_async(double, 4))
    said = r"for CallAsync: .* CallAsync.awaited_by\(...\); live_async\(\), with run_async,"
    with pytest.raises(Misuse, match=said):
        program.run(live())
    with pytest.raises(Misuse, match=said):
        asyncio.run(program.run_async(live()))


def test_a_coroutine_function_is_cancelled_at_a_limit() -> None:
    done: list[str] = []

    async def hang() -> None:
        try:
            await asyncio.sleep(PATIENT)
        finally:
            done.append("let go")

    program = at(N0).do(do(call_async(hang)).limit(SOON))
    with pytest.raises(DeadlineExceeded, match="CallAsync was running"):
        asyncio.run(program.run_async(live_async()))
    assert done == ["let go"]
