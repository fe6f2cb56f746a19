"""Runs with a deadline leave nothing for the garbage collector."""

from __future__ import annotations

import gc
import weakref
from typing import Any, TypeAlias

import pytest

from ixbackoff import (
    N0,
    N1,
    N2,
    DeadlineExceeded,
    Delay,
    Do,
    Interpreter,
    NotReady,
    Now,
    ServerError,
    at,
    attempt,
    do,
    time_limit,
)

from ..support.ways.attempts import Broken, Stop, guarded, holding, two_of_them, work
from ..support.ways.libraries import PATIENT, Library, each_library, hanging
from ..support.ways.programs import Ask


@attempt
def catching() -> Do[Ask, int]:
    try:
        yield from Ask("work")
    except ServerError:
        yield from Ask("work")
    finally:
        yield from Ask("clean up")
    return 0


class Late(TimeoutError):
    """A handler's time-out, which unlike its base class has weak references."""


class Busy(ServerError):
    """A server error that needs no status."""

    def __init__(self) -> None:
        super().__init__(503)


Script: TypeAlias = list[tuple[float, int | type[BaseException]]]


def with_a_clock(script: Script) -> Interpreter[Ask | Now | Delay]:
    """Answers that take their time, and keep nothing alive."""
    now = [0.0]
    left = list(reversed(script))

    def answer(command: Ask) -> int:
        seconds, outcome = left.pop()
        limit = time_limit()
        if limit is not None and seconds >= limit:
            now[0] += limit
            raise Late
        now[0] += seconds
        if isinstance(outcome, int):
            return outcome
        raise outcome

    def wait(command: Delay) -> None:
        now[0] += command.seconds

    return Ask.handled_by(answer) | Now.handled_by(lambda command: now[0]) | Delay.handled_by(wait)


MEMORY: dict[str, tuple[Any, float | None, Any]] = {
    "well": (at(N2).retry(guarded()), 5, [(1, NotReady), (0, 0), (0, 1), (0, 0)]),
    "ended": (at(N2).retry(guarded()), 5, [(60, 1), (0, 0)]),
    "ended in a retry": (at(N2).retry(catching()), 5, [(0, Busy), (60, 1), (0, 0)]),
    "ended by a failure": (at(N2).retry(guarded()), 5, [(60, 1), (0, Broken)]),
    "a wait that is not begun": (at(N2).retry(guarded()), 5, [(4, NotReady), (0, 0)]),
    "a wait of one that is well": (at(N1).do(work).wait(), 5, [(4.5, 1)]),
    "a late answer": (at(N0).do(two_of_them()), 5, [(4, 1), (60, 1)]),
    "limits": (at(N1).retry(do(guarded()).limit(2)), 9, 2 * [(60, 1), (0, 0)]),
    "limits, resumed": (at(N1).resume(do(guarded()).limit(2)), 9, 2 * [(60, 1), (0, 0)]),
    "limits in limits": (
        at(N1).retry(do(guarded()).limit(2).limit(2)),
        None,
        2 * [(9, 1), (0, 0)],
    ),
    "an interrupt": (at(N1).retry(do(guarded()).limit(2)), 9, [(1, Stop), (0, 0)]),
    "held back": (at(N1).retry(holding(BaseException)), 5, [(60, 1)]),
}


@pytest.mark.parametrize(("program", "within", "script"), MEMORY.values(), ids=MEMORY)
def test_a_run_with_a_deadline_leaves_nothing_for_the_collector(
    program: Any, within: float | None, script: Any
) -> None:
    kept: list[weakref.ref[BaseException]] = []
    interpreter = with_a_clock(script)
    gc.collect()
    gc.freeze()  # so that it has only what is made here to look at
    gc.disable()
    try:
        try:
            program.run(interpreter, within=within)
        except BaseException as error:
            links: list[Any] = [error, error.__cause__, error.__context__]
            kept += [weakref.ref(link) for link in links if hasattr(link, "__weakref__")]
            links.clear()
        assert gc.collect() == 0
        assert [failure() for failure in kept] == [None] * len(kept)
    finally:
        gc.enable()


@each_library
def test_an_ended_run_keeps_no_failure_alive(library: Library) -> None:
    kept: list[weakref.ref[BaseException]] = []
    interpreter = hanging(library, [])

    async def main() -> None:
        try:
            await at(N0).do(do(guarded()).limit(0.01)).run_async(interpreter, within=PATIENT)
        except DeadlineExceeded as error:
            kept.append(weakref.ref(error))
        gc.disable()

    try:
        library.run(main)
        assert [one() for one in kept] == [None]
    finally:
        gc.enable()
