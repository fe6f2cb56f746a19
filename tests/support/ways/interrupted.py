"""Ctrl-C at every place of a run where CPython looks for signals.

`python -m tests.support.ways.interrupted STEP` interrupts each way to run something that waits at
one of the first such places, at the one STEP later, and so on to its end, without an observer and
with one.
After each interrupt the same thread has to be able to run again, and each run that began has to
have ended once. `tests.support.ways.signalled` does so with real signals.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable
from dis import opname
from itertools import product
from pathlib import Path
from types import FrameType
from typing import Any

from ixbackoff import N2, NotReady, at, backoff, call, time_limit
from ixbackoff._functions.default_interpreters import PLAIN, PLAIN_ASYNC
from ixbackoff._limits.nesting import RUNNING, this_thread
from ixbackoff.observing import Began, Ended, Event, Run, observed
from ixbackoff.schedules import Constant

PACKAGE = str(Path(sys.modules["ixbackoff"].__file__ or "").parent)
AT_ONCE = Constant(0)
patiently = backoff(N2, schedule=AT_ONCE)


class Failing:
    """A function that fails once in each run, or always."""

    def __init__(self, always: bool = False) -> None:
        self.calls = 0
        self.always = always

    def __call__(self) -> int:
        self.calls += 1
        if self.always or self.calls % 2:
            raise NotReady
        return self.calls


async def failing_async(failing: Failing) -> int:
    return failing()


def decorated(failing: Failing) -> object:
    return patiently(failing)()


def a_program(failing: Failing) -> object:
    return at(N2).retry(call(failing)).run(PLAIN, schedule=AT_ONCE)


def in_time(failing: Failing) -> object:
    return at(N2).retry(call(failing)).run(PLAIN, schedule=AT_ONCE, within=60)


def a_block(failing: Failing) -> object:
    for one_try in patiently:
        with one_try:
            failing()
    return None


def awaited(failing: Failing) -> object:
    return stepped(patiently(failing_async)(failing))


def awaited_program(failing: Failing) -> object:
    program = patiently.program_async(failing_async, failing)
    return stepped(program.run_async(PLAIN_ASYNC, schedule=AT_ONCE))


def stepped(coroutine: Any) -> object:
    """Run a coroutine without an event loop, which would add instructions."""
    try:
        while True:
            coroutine.send(None)
    except StopIteration as end:
        return end.value
    finally:
        coroutine.close()


def awaited_block(failing: Failing) -> object:
    async def tried() -> None:
        async for one_try in patiently:
            with one_try:
                failing()

    return stepped(tried())


SYNC: tuple[Callable[[Failing], object], ...] = (decorated, a_program, in_time, a_block)
IN_A_LOOP = (*SYNC, awaited, awaited_program, awaited_block)


LOOKS = ("RESUME", "JUMP_BACKWARD", "CALL")
"""Beginnings of the names of instructions at which CPython looks for signals."""


class Interrupt:
    """A tracer that raises KeyboardInterrupt inside the package, where a signal could.

    Attributes:
        left: the number of such places before the one to strike.
        struck: the instruction after that place, empty until then.
    """

    def __init__(self, at: int) -> None:
        self.left = at
        self.struck = ""
        self._before: dict[int, str] = {}

    def __call__(self, frame: FrameType, event: str, _: object) -> Any:
        if event == "call":
            if not frame.f_code.co_filename.startswith(PACKAGE) or from_observer(frame):
                return None
            frame.f_trace_opcodes = True
        elif event == "opcode":
            now = opname[frame.f_code.co_code[frame.f_lasti]]
            before = self._before.get(id(frame), "RESUME")
            self._before[id(frame)] = now
            if before.startswith(LOOKS) and before != "JUMP_BACKWARD_NO_INTERRUPT":
                self.left -= 1
                if self.left <= 0 and not self.struck:
                    self.struck = now
                    raise KeyboardInterrupt
        return self


class Open:
    """An observer that knows the runs that began and have not ended.

    Attributes:
        runs: these runs.
        wrong: the number of ends of runs that were not open.
    """

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.wrong = 0

    def __call__(self, event: Event) -> None:
        if isinstance(event, Began):
            self.runs.append(event.run)
        elif isinstance(event, Ended):
            if event.run in self.runs:
                self.runs.remove(event.run)
            else:
                self.wrong += 1

    def mistakes(self) -> int:
        """Return how many runs have not ended once, and forget them."""
        mistakes = len(self.runs) + self.wrong
        self.runs.clear()
        self.wrong = 0
        return mistakes


def from_observer(frame: FrameType) -> bool:
    """Return whether the observer has asked an event for something: that is no part of a run."""
    return frame.f_back is not None and frame.f_back.f_code is Open.__call__.__code__


def interrupted(way: Callable[[Failing], object], always: bool, place: int) -> Interrupt:
    """Interrupt a run at such a place; nothing is struck if the run has fewer of them."""
    interrupt = Interrupt(place)
    sys.settrace(interrupt)
    try:
        way(Failing(always))
    except (KeyboardInterrupt, NotReady):
        pass
    finally:
        sys.settrace(None)
    return interrupt


def interrupt_all(ways: tuple[Callable[[Failing], object], ...], step: int) -> int:
    """Interrupt each way at such steps, and check that this thread can run everything after it."""
    runs = 0
    every = product(ways, (False, True), ((), (Open(),)))
    for number, (way, always, observers) in enumerate(every):
        place = 1 + 3 * number % step  # they have places in common: each begins at another one
        with observed(*observers):
            while (interrupt := interrupted(way, always, place)).struck:
                try:
                    check_over(ways)
                    for observer in observers:
                        assert not observer.mistakes()
                except Exception as error:
                    error.add_note(f"after {way.__name__}, always={always}, at {place}")
                    error.add_note(interrupt.struck)
                    raise
                runs += 1
                place += step
    return runs


def check_over(ways: tuple[Callable[[Failing], object], ...]) -> None:
    """Check that nothing is left of a run, so that any other can be made."""
    assert time_limit() is None
    assert RUNNING.get()[0] is None
    assert not this_thread().notifying
    for way in ways:
        way(Failing())


async def in_a_loop(step: int) -> int:
    return interrupt_all(IN_A_LOOP, step)


if __name__ == "__main__":
    logging.getLogger("ixbackoff").setLevel(logging.CRITICAL)
    step = int(sys.argv[1])
    total = interrupt_all(SYNC, step) + asyncio.run(in_a_loop(step))
    print(f"{total} runs were interrupted, each has ended once, and each thread went on")
