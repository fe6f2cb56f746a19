"""Gates in durable runs: a replayed try passes, a line is not recorded, and a refusal is."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import override

from ixbackoff import (
    N0,
    N1,
    N2,
    N3,
    CircuitBreaker,
    Crowded,
    DeadlineExceeded,
    Delay,
    Gate,
    Interpreter,
    Limiter,
    Misuse,
    NotReady,
    Program,
    Reserve,
    ServerError,
    Z,
    all_of,
    at,
    do,
)
from ixbackoff._meaning.run_defaults import Defaults
from ixbackoff.durable import durable
from ixbackoff.live import live, live_async
from ixbackoff.testing import exploring

from ..support.durable.journals import Memory, durably
from ..support.ways.gates import Recorder
from ..support.ways.programs import Ask


class Died(BaseException):
    """The process has died."""


class Service:
    """A service that fails by a script, and lets the process die at one of its commands."""

    def __init__(self, script: list[Exception | None], dies: int | None = None) -> None:
        self.script = script
        self.dies = dies
        self.asked: list[str] = []

    def __call__(self, ask: Ask) -> int:
        self.asked.append(ask.name)
        if len(self.asked) == self.dies:
            raise Died
        outcome = self.script.pop(0) if self.script else None
        if outcome is not None:
            raise outcome
        return len(ask.name)

    @property
    def interpreter(self) -> Interpreter[Any]:
        return live() | Ask.handled_by(self)


def program(gate: Gate) -> Program[Any, Z, Any, Any]:
    """Two services behind the gate and one beside it, in one try."""
    first, second = do(Ask("a")).through(gate), do(Ask("b")).through(gate)
    return at(N3).retry(first.then(lambda _: Ask("c")).then(lambda _: second))


def test_a_replayed_try_asks_no_gate() -> None:
    journal = Memory()
    durably(program(Recorder()), Service([]).interpreter, Defaults(), journal)
    again = Recorder()
    after = Memory(journal.kept)
    durably(program(again), Service([ServerError(500)]).interpreter, Defaults(), after)
    assert again.calls == []
    assert after.kept == journal.kept


def test_a_line_is_not_recorded_and_a_crash_puts_the_try_there_anew() -> None:
    journal, gate = Memory(), Recorder()
    service = Service([])
    durably(program(gate), service.interpreter, Defaults(), journal)
    assert gate.calls == ["enter", "hear None", "enter", "turn", "hear None"]
    places = [json.loads(entry)["at"] for entry in journal.kept]
    assert places == ["0", "1", "2"]
    again = Recorder()
    durably(program(again), service.interpreter, Defaults(), Memory(journal.kept[:2]))
    assert again.calls == ["enter", "hear None"]


def test_a_refusal_is_recorded_and_read_again() -> None:
    journal = Memory()
    refusing = Recorder(refused=frozenset({1, 3}))
    service = Service([])
    durably(program(refusing), service.interpreter, Defaults(), journal)
    kinds = [json.loads(entry).get("c", [""])[0] for entry in journal.kept]
    assert [kind for kind in kinds if kind] == [
        *("Refused", "Delay"),
        *("Ask", "Ask", "Refused", "Delay"),
        *("Ask", "Ask", "Ask"),
    ]
    for length in range(len(journal.kept) + 1):
        again, after = Recorder(), Memory(journal.kept[:length])
        durably(program(again), service.interpreter, Defaults(), after)
        assert after.kept[:length] == journal.kept[:length]


@given(
    st.lists(st.sampled_from([None, None, NotReady(), ServerError(503)]), max_size=6),
    st.sets(st.integers(1, 6)),
    st.sets(st.integers(1, 6)),
    st.booleans(),
)
def test_a_run_ends_alike_wherever_its_process_died(
    script: list[Exception | None], outer: set[int], inner: set[int], within: bool
) -> None:
    def made() -> Program[Any, Z, Any, Any]:
        gates = [Recorder(refused=frozenset(numbers)) for numbers in (outer, inner)]
        twice = do(Ask("a")).through(gates[1]).through(gates[0])
        return at(N2).retry(twice.then(lambda _: all_of(twice, Ask("c"))))

    def run(kept: list[str]) -> tuple[Any, Memory]:
        journal = Memory(kept)
        try:
            value = durably(made(), Service([*script]).interpreter, how, journal)
        except (NotReady, ServerError, Crowded) as failure:
            return repr(failure), journal
        return value, journal

    how = Defaults(within=1e6 if within else None)
    outcome, journal = run([])
    whole, last = run(journal.kept)
    assert (whole, last.kept) == (outcome, journal.kept)
    for length in range(len(journal.kept)):
        _, partial = run(journal.kept[:length])  # no divergence
        assert partial.kept[:length] == journal.kept[:length]


class Turns:
    """A handler of `Reserve`, whose answers are a script, and then 0."""

    def __init__(self, *script: float | Exception) -> None:
        self.script = list(script)
        self.asked = 0

    def __call__(self, _: Reserve) -> float:
        self.asked += 1
        outcome = self.script.pop(0) if self.script else 0.0
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


RESERVE = Reserve("api", 10, line=5)


def in_turn() -> Program[Any, Z, Any, Any]:
    first, second = do(Ask("a")).through(RESERVE), do(Ask("b")).through(RESERVE)
    return at(N2).retry(first.then(lambda _: second))


class TestReserve:
    def test_a_turn_is_not_recorded_and_a_crash_reserves_another(self) -> None:
        journal, turns = Memory(), Turns(0.01, 0.01)
        durably(in_turn(), Service([]).interpreter | Reserve.handled_by(turns), Defaults(), journal)
        assert [json.loads(entry)["c"][0] for entry in journal.kept] == ["Ask", "Ask"]
        again, after = Turns(), Memory(journal.kept[:1])
        durably(in_turn(), Service([]).interpreter | Reserve.handled_by(again), Defaults(), after)
        assert (turns.asked, again.asked) == (2, 1)

    @pytest.mark.parametrize("failure", [Crowded(1), ConnectionError("no database")])
    @pytest.mark.parametrize("length", range(5))
    def test_a_turn_that_was_not_given_is_recorded(self, failure: Exception, length: int) -> None:
        def run(turns: Turns, kept: list[str]) -> Memory:
            journal = Memory(kept)
            handlers = Service([]).interpreter | Reserve.handled_by(turns)
            assert durably(in_turn(), handlers, Defaults(), journal) == 1
            return journal

        journal = run(Turns(0.0, failure), [])
        kinds = [json.loads(entry).get("c", ["waited"])[0] for entry in journal.kept]
        assert kinds == ["Ask", "Refused", "Delay", "waited", "Ask", "Ask"]
        again = Turns()
        assert run(again, journal.kept[:length]).kept[:length] == journal.kept[:length]
        assert again.asked == [2, 1, 2, 2, 2][length]

    def test_a_missing_handler_is_not_recorded(self) -> None:
        journal = Memory()
        with pytest.raises(Misuse, match="No handler for Reserve"):
            durably(in_turn(), Service([]).interpreter, Defaults(), journal)
        assert journal.kept == []

    def test_a_deadline_while_the_turn_is_asked_for_is_recorded(self) -> None:
        class Slow(Turns):
            def __call__(self, _: Reserve) -> float:
                journal.time += 9
                raise TimeoutError("the database is slow")

        program = at(N1).retry(do(Ask("a")).through(RESERVE).limit(5))
        journal = Memory()
        handlers = Service([]).interpreter | Reserve.handled_by(Slow())
        with pytest.raises(DeadlineExceeded):
            durably(program, handlers, Defaults(), journal)
        kinds = [json.loads(entry).get("c", ["waited"])[0] for entry in journal.kept]
        assert kinds == ["Refused", "Delay", "waited", "Refused"]
        for length in range(1, 4):
            after = Memory(journal.kept[:length])
            turns = Turns()
            handlers = Service([]).interpreter | Reserve.handled_by(turns)
            assert durably(program, handlers, Defaults(), after) == 1
            assert turns.asked == 1

    def test_an_async_handler_and_concurrent_effects(self) -> None:
        async def turn(reserve: Reserve) -> float:
            await asyncio.sleep(0)
            return 0.001

        both = all_of(do(Ask("a")).through(RESERVE), do(Ask("bc")).through(RESERVE))
        journal = Memory()
        handlers = live_async() | Ask.handled_by(Service([])) | Reserve.awaited_by(turn)
        assert durably(at(N0).do(both), handlers, Defaults(), journal) == (1, 2)

    def test_a_resumed_attempt_keeps_what_was_answered(self) -> None:
        service, turns = Service([]), Turns(0.0, ConnectionError("no database"))
        asked = do(Ask("a")).then(lambda _: do(Ask("b")).through(RESERVE))
        asked = asked.then(lambda _: do(Ask("c")).through(RESERVE))
        journal = Memory()
        handlers = service.interpreter | Reserve.handled_by(turns)
        durably(at(N2).resume(asked), handlers, Defaults(), journal)
        assert (service.asked, turns.asked) == (["a", "b", "c"], 3)
        service.asked.clear()
        for length in range(len(journal.kept)):
            handlers = service.interpreter | Reserve.handled_by(Turns())
            durably(at(N2).resume(asked), handlers, Defaults(), Memory(journal.kept[:length]))


def test_a_deadline_reads_the_same_times_again() -> None:
    journal = Memory()
    how = Defaults(within=60, through=Limiter(10, line=5))
    asked = at(N2).retry(do(Ask("a")).then(lambda _: Ask("b")))
    durably(asked, Service([NotReady()]).interpreter, how, journal)
    again = Memory(journal.kept)
    durably(asked, Service([]).interpreter, how, again)
    assert again.kept == journal.kept


class Closing(Gate):
    """A gate whose line ends with the process."""

    @override
    def enter(self, now: float, came: float, until: float) -> float:
        return now + 0.001

    @override
    def turn(self, turn: float, now: float, came: float, until: float) -> float:
        raise asyncio.CancelledError


def test_a_process_that_ends_in_line_records_nothing() -> None:
    journal = Memory()
    with pytest.raises(asyncio.CancelledError):
        durably(at(N0).do(do(Ask("a")).through(Closing())), live(), Defaults(), journal)
    assert journal.kept == []


def test_a_workflow_takes_gates_but_no_breakers() -> None:
    breaker = CircuitBreaker(failures=1, within=1, open_for=1)

    @durable(name="gated")
    def gated() -> Program[N2, Z, int, Any]:
        return at(N2).retry(do(Ask("a")).through(Limiter(1, line=1)))

    @durable(name="guarded")
    def guarded() -> Program[N2, Z, int, Any]:
        return at(N2).retry(do(Ask("a")).guarded(breaker))

    gated.build()
    with pytest.raises(Misuse, match="circuit breaker"):
        guarded.build()


@dataclass
class World:
    asked: int = 0

    def interpreter(self) -> Interpreter[Ask]:
        return Ask.handled_by(self.ask)

    def ask(self, _: Ask) -> int:
        self.asked += 1
        return 1

    def asked_once(self) -> None:
        assert self.asked <= 1


class TestExplored:
    """An exploration lets each try pass, whatever gates have heard in other histories."""

    def test_no_gate_is_asked(self) -> None:
        gate = Recorder()
        model = exploring.Model(World, World.interpreter)
        plain = model.explore(at(N2).retry(Ask("a")), faults=[exploring.fails()])
        gated = model.explore(at(N2).retry(do(Ask("a")).through(gate)), faults=[exploring.fails()])
        assert gated == plain
        assert gate.calls == []

    def test_a_refusal_is_a_surprise(self) -> None:
        model = exploring.Model(World, World.interpreter, always=World.asked_once)
        gated = at(N2).retry(do(Ask("a")).through(Recorder()))
        model.explore(gated, faults=[exploring.fails(Crowded(1))])

    def test_a_run_that_dies_resumes(self) -> None:
        gate, model = Recorder(), exploring.Model(World, World.interpreter)
        asked = do(Ask("a")).then(lambda _: do(Ask("b")).through(gate))
        model.explore(at(N2).retry(asked), faults=exploring.dies("durably"))
        assert gate.calls == []


def test_a_line_waits_in_real_time() -> None:
    waits: list[float] = []
    handlers = Ask.handled_by(lambda _: 1) | Delay.handled_by(lambda one: waits.append(one.seconds))
    journal = Memory()
    durably(program(Limiter(1000, line=5)), live() | handlers, Defaults(), journal)
    assert waits == []  # the engine waits itself
