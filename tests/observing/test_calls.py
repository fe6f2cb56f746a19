"""Calls of plain functions while they are observed: their commands, events and leftovers."""

from __future__ import annotations

import asyncio
import gc
from contextlib import suppress
from typing import Any

import pytest

from ixbackoff import N1, N2, N3, NotReady, backoff
from ixbackoff._functions.default_interpreters import PLAIN
from ixbackoff.observing import Event, Issued, Observer, observed
from ixbackoff.schedules import Constant

from ..support.ways.functions import WAYS, seen, sleeps


def test_the_command_of_a_call_is_the_same_at_each_try() -> None:
    commands: list[Any] = []

    def keep(event: Event) -> None:
        if isinstance(event, Issued):
            commands.extend([event.command, event.command])

    with observed(keep), sleeps():
        seen(WAYS["decorated"], backoff(N2), [NotReady, 1])
    assert len(commands) == 4
    assert all(command is commands[0] for command in commands)


def stops() -> int:
    raise StopIteration


def gives_up() -> int:
    raise NotReady


async def gives_up_async() -> int:
    raise NotReady


@pytest.mark.parametrize("observers", [(), (lambda event: None,)])
@pytest.mark.parametrize("by_program", [False, True])
def test_a_function_that_raises_stop_iteration_is_retried(
    observers: tuple[Observer, ...], by_program: bool
) -> None:
    patiently, calls = backoff(N3, on=RuntimeError, schedule=Constant(0)), [0]

    def counted() -> int:
        calls[0] += 1
        return stops()

    def called() -> int:
        return patiently.program(counted).run(PLAIN) if by_program else patiently.call(counted)

    with observed(*observers), pytest.raises(RuntimeError, match="which ends generators") as raised:
        called()
    assert calls == [4]
    assert isinstance(raised.value.__cause__, StopIteration)
    assert raised.value.__notes__ == ["ixbackoff: tries: 4, waits: 3, 0 s in all"]


def test_the_events_of_a_function_that_raises_stop_iteration_hold_what_is_raised() -> None:
    events: list[Any] = []
    with observed(events.append), suppress(RuntimeError):
        backoff(N1, on=RuntimeError, schedule=Constant(0)).call(stops)
    failures = [event.failure for event in events if hasattr(event, "failure")]
    assert [type(failure) for failure in failures] == [RuntimeError] * 4


CALLED = [len, stops, gives_up, gives_up_async]


@pytest.mark.parametrize("function", CALLED, ids=lambda one: one.__name__)
def test_an_observed_call_leaves_no_reference_cycles(function: Any) -> None:
    retried = backoff(N3, on=Exception, schedule=Constant(0))(function)

    async def cycles() -> int:
        gc.collect()
        with suppress(NotReady, RuntimeError):
            answer = retried(*[""] * (function is len))
            if function is gives_up_async:
                await answer
        return gc.collect()

    async def twice() -> int:
        await cycles()
        return await cycles()

    gc.collect()
    gc.freeze()  # so that it has only what is made here to look at
    with observed(lambda event: None):
        assert asyncio.run(twice()) == 0
