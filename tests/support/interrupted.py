"""Ctrl-C at every instruction of a run: `python -m tests.support.interrupted TIMES`.

Each way to run something that waits is interrupted at its first instruction, its second, and so on;
after each interrupt the same thread has to be able to run again.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from ixbackoff import N2, NotReady, at, backoff, call, time_limit
from ixbackoff._functions.answering import PLAIN, PLAIN_ASYNC
from ixbackoff.schedules import Constant

PACKAGE = str(Path(sys.modules["ixbackoff"].__file__ or "").parent)
AT_ONCE = Constant(0)
patiently = backoff(N2, schedule=AT_ONCE)


class Failing:
    """A function that fails once in each run."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> int:
        self.calls += 1
        if self.calls % 2:
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


SYNC: tuple[Callable[[Failing], object], ...] = (decorated, a_program, in_time, a_block)
IN_A_LOOP = (*SYNC, awaited, awaited_program)


class Interrupt:
    """A tracer that raises KeyboardInterrupt at the n-th instruction inside the package."""

    def __init__(self, at: int) -> None:
        self.left = at
        self.struck = False

    def __call__(self, frame: FrameType, event: str, _: object) -> Any:
        if event == "call":
            if not frame.f_code.co_filename.startswith(PACKAGE):
                return None
            frame.f_trace_opcodes = True
        elif event == "opcode":
            self.left -= 1
            if self.left <= 0 and not self.struck:
                self.struck = True
                raise KeyboardInterrupt
        return self


def interrupted(way: Callable[[Failing], object], place: int) -> bool:
    """Interrupt a run at this instruction; return whether the run was that long."""
    interrupt = Interrupt(place)
    sys.settrace(interrupt)
    try:
        way(Failing())
    except (KeyboardInterrupt, NotReady):
        pass
    finally:
        sys.settrace(None)
    return interrupt.struck


def interrupt_all(ways: tuple[Callable[[Failing], object], ...], times: int) -> None:
    """Interrupt so many runs, and check that this thread can run everything after each."""
    done, place = 0, dict.fromkeys(ways, 1)
    while done < times:
        for way in ways:
            struck = interrupted(way, place[way])
            try:
                assert time_limit() is None
                for other in ways:
                    other(Failing())
            except Exception as error:
                error.add_note(f"after {way.__name__}, interrupted at {place[way]}")
                raise
            place[way] = place[way] + 1 if struck else 1
            done += 1


async def in_a_loop(times: int) -> None:
    interrupt_all(IN_A_LOOP, times)


if __name__ == "__main__":
    half = int(sys.argv[1]) // 2
    interrupt_all(SYNC, half)
    asyncio.run(in_a_loop(half))
    print(f"{2 * half} runs were interrupted, and each thread went on")
