"""Failures of real libraries: a durable run judges them as `run` does, though it records them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ixbackoff import (
    N1,
    AsyncInterpreter,
    Command,
    Constant,
    Delay,
    Interpreter,
    Program,
    at,
    backoff,
    is_transient,
)
from ixbackoff._meaning.run_defaults import Defaults
from ixbackoff.durable import durable
from ixbackoff.live import live, live_async
from ixbackoff.testing import Virtual, no_waits

from ..support.clients.failing import FUNCTIONS, Function, failing
from ..support.clients.tries import failure_of
from ..support.durable.engines import working
from ..support.durable.journals import Memory, durably

SOON = Constant(0.01)
ONS = ("by default", "its class", "as raised", "in seconds")
"""How a failure is chosen: by its verdict; by its class; by what only the real failure has; and for
the seconds of the next wait."""


@dataclass(frozen=True)
class Fail(Command[None]):
    """A command that fails each time, by a function."""

    name: str
    on: str


class Outcome(NamedTuple):
    """How often it was asked, and the notes of the run: why it ended, tries, waits, seconds."""

    asked: int
    notes: list[str]


def outcome(asked: int, failure: BaseException) -> Outcome:
    notes = map(str, getattr(failure, "__notes__", ()))
    return Outcome(asked, [note for note in notes if note.startswith("ixbackoff:")])


class Failures:
    """The handler of `Fail`.

    Attributes:
        raised: the classes of the failures.
        asked: the number of calls.
    """

    raised: Mapping[str, type[Exception]] = {}

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self.functions = functions
        self.asked: Counter[tuple[str, str]] = Counter()

    def __call__(self, command: Fail) -> None:
        self.asked[command.name, command.on] += 1
        self.functions[command.name]()

    async def awaited(self, command: Fail) -> None:
        await asyncio.to_thread(self, command)


def chosen(name: str, on: str) -> Any:
    kind = Failures.raised[name]
    choices = {
        "by default": is_transient,
        "its class": kind,
        "as raised": lambda failure: (
            failure.__class__ is kind and failure.__traceback__ is not None
        ),
        "in seconds": lambda failure: failure.__class__ is kind and 0.05,
    }
    return choices[on]


def program(name: str, on: str) -> Program[Any, Any, None, Any]:
    return at(N1).retry(Fail(name, on), on=chosen(name, on))


def by_run(failures: Failures, name: str, on: str) -> BaseException:
    return failure_of(lambda: program(name, on).run(plain(failures), schedule=SOON))


def plain(failures: Failures) -> Interpreter[Any]:
    return Fail.handled_by(failures) | Delay.handled_by(lambda _: None)


def by_run_async(failures: Failures, name: str, on: str) -> BaseException:
    async def wait(_: Delay) -> None: ...

    interpreter = Fail.awaited_by(failures.awaited) | Delay.awaited_by(wait)
    running = program(name, on)
    return failure_of(lambda: asyncio.run(running.run_async(interpreter, schedule=SOON)))


def by_virtual(failures: Failures, name: str, on: str) -> BaseException:
    world = Virtual(Fail.handled_by(failures))
    return failure_of(lambda: program(name, on).run(world.interpreter, schedule=SOON))


def by_function(failures: Failures, name: str, on: str) -> BaseException:
    call = backoff(N1, on=chosen(name, on), schedule=SOON)(failures)
    with no_waits():
        return failure_of(lambda: call(Fail(name, on)))


def by_async_function(failures: Failures, name: str, on: str) -> BaseException:
    @backoff(N1, on=chosen(name, on), schedule=SOON)
    async def call() -> None:
        await failures.awaited(Fail(name, on))

    with no_waits():
        return failure_of(lambda: asyncio.run(call()))


def by_journal(failures: Failures, name: str, on: str) -> BaseException:
    return recorded(Memory(), failures, name, on)


def recorded(journal: Memory, failures: Failures, name: str, on: str) -> BaseException:
    how = Defaults(SOON)
    return failure_of(lambda: durably(program(name, on), plain(failures), how, journal))


def by_journal_killed_after_each_record(failures: Failures, name: str, on: str) -> BaseException:
    """Run from each of its records on, as after a death there; the last of these runs."""
    whole = Memory()
    failure = recorded(whole, failures, name, on)
    last = outcome(0, failure)
    for length in range(1, len(whole.kept)):
        failures.asked.clear()
        failures.asked[name, on] = sum('"f"' in entry for entry in whole.kept[:length])
        failure = recorded(Memory(whole.kept[:length]), failures, name, on)
        assert outcome(0, failure) == last
    return failure


Way = Callable[[Failures, str, str], BaseException]
WAYS: list[Way] = [
    by_run_async,
    by_virtual,
    by_function,
    by_async_function,
    by_journal,
    by_journal_killed_after_each_record,
]


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> Generator[Mapping[str, Function]]:
    with failing(tmp_path_factory.mktemp("failing")) as functions:
        yield functions


@pytest.fixture(scope="module")
def expected(functions: Mapping[str, Function]) -> Mapping[tuple[str, str], Outcome]:
    """The outcomes of `run`."""
    Failures.raised = {name: type(failure_of(functions[name])) for name in functions}
    failures = Failures(functions)
    ends = {(name, on): by_run(failures, name, on) for name in functions for on in ONS}
    return {key: outcome(failures.asked[key], ends[key]) for key in ends}


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_failure_is_judged_as_by_run(
    way: Way, name: str, functions: Mapping[str, Function], expected: Mapping[Any, Outcome]
) -> None:
    for on in ONS:
        failures = Failures(functions)
        failure = way(failures, name, on)
        assert (on, *outcome(failures.asked[name, on], failure)) == (on, *expected[name, on])


@durable(name="failing", schedule=SOON)
def failing_run(key: tuple[str, str]) -> Any:
    return program(*key)


def in_threads(failures: Failures) -> Interpreter[Any]:
    return live() | Fail.handled_by(failures)


def awaited(failures: Failures) -> AsyncInterpreter[Any]:
    return live_async() | Fail.awaited_by(failures.awaited)


@pytest.mark.slow
@pytest.mark.parametrize("interpreter", [in_threads, awaited])
@pytest.mark.parametrize("hold", [60, 0], ids=["held", "parked"])
def test_an_engine_judges_them_as_run_does(
    interpreter: Any,
    hold: float,
    functions: Mapping[str, Function],
    expected: Mapping[Any, Outcome],
    tmp_path: Path,
) -> None:
    """A run that is parked is replayed from the database after its wait.

    Each failure is judged held and parked, in threads and awaited, and so is each way to choose it.
    """
    half = int((interpreter is in_threads) == (hold == 0))
    mine = {
        (name, on): expected[name, on]
        for number, name in enumerate(functions)
        for place, on in enumerate(ONS)
        if (number + place) % 2 == half
    }
    failures = Failures(functions)
    with working(tmp_path, interpreter(failures), failing_run, hold=hold) as engine:
        runs = engine.start_many(failing_run, {f"{number}": key for number, key in enumerate(mine)})
        ends = {key: failure_of(run.result) for key, run in zip(mine, runs, strict=True)}
    assert {key: outcome(failures.asked[key], ends[key]) for key in ends} == mine
