"""Clients do what their programs do in virtual time, whatever those are made of."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ixbackoff import FOREVER, Constant, NotReady, ServerError, at
from ixbackoff._running.concurrent_effects import Aborted
from ixbackoff.fleet import Events, Outcome, Request, Service, Serving, simulate
from ixbackoff.schedules import Timing
from ixbackoff.schedules.kinds import powers_of_two
from ixbackoff.testing import Virtual, takes

from ..support.fleets.scripted import ZERO, line
from ..support.generators.parts import at_once, in_turn
from ..support.generators.programs import RUNGS, failures
from ..support.laws import failing, pure
from ..support.ways.programs import Ask

LONG = 500.0
Ended = tuple[list[tuple[Any, ...]], float, int]


class Chancy(Service):
    """It answers as chance has it for the command and the time.

    Attributes:
        seed: of chance.
        asked: the names of commands, and the times at which they were issued.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.asked: list[tuple[str, float]] = []

    @property
    def at_once(self) -> bool:
        """Whether two branches got the same answer at the same time: which is first is open."""
        return len(set(self.asked)) < len(self.asked)

    def result(self, command: Ask, now: float) -> tuple[float, Any]:
        """The seconds that a command takes which is issued now, and its answer or failure."""
        self.asked.append((command.name, now))
        random = Random(f"{self.seed} {command.name} {now!r}")  # noqa: S311
        seconds = random.uniform(0.01, 3.0)
        if random.random() < 0.6:
            return seconds, random.randrange(6)
        return seconds, random.choice([NotReady("n"), ServerError(503), KeyError("k")])

    def begin(self, events: Events) -> Serving:
        return ChancyServing(self, events)


class ChancyServing(Serving):
    def __init__(self, model: Chancy, events: Events) -> None:
        self.model = model
        self.events = events

    def ask(self, request: Request) -> None:
        assert isinstance(request.command, Ask)
        seconds, result = self.model.result(request.command, self.events.now)
        end = request.fail if isinstance(result, Exception) else request.answer
        self.events.after(seconds, end, result)


def simulated(program: Any, chance: Chancy, within: float | None, timing: Timing) -> Ended:
    outcome: Outcome = simulate(
        program,
        chance.serves(Ask) | ZERO,
        clients=1,
        seconds=LONG,
        trace=True,
        within=within,
        schedule=timing,
    )
    well = outcome.total(lambda second: second.well)
    return sorted(map(line, outcome.trace), key=repr), outcome.ended, int(well)


def run_virtually(program: Any, chance: Chancy, within: float | None, timing: Any) -> Ended:
    world = Virtual(Ask.handled_by(lambda command: takes(*chance.result(command, world.now))))
    well = 1
    try:
        program.run(world.interpreter, within=within, schedule=timing)
    except Exception:
        well = 0
    return sorted(map(line, world.trace), key=repr), world.now, well


asks = st.builds(lambda number: Ask(f"{number}"), st.integers(0, 10**6))
effects = st.recursive(
    asks | st.builds(pure, st.integers(0, 5)) | st.builds(failing, failures),
    in_turn,
    max_leaves=6,
)


@st.composite
def programs(draw: st.DrawFn, effects: st.SearchStrategy[Any]) -> Any:
    """A ladder of effects, that ends with a retry of one."""
    top = draw(st.sampled_from(RUNGS))
    program: Any = at(top)
    for step in draw(st.lists(st.sampled_from(["do", "bind", "or_else", "backoff"]), max_size=3)):
        effect = draw(effects)
        if step == "bind":
            return program.bind(
                lambda _, rung=program.ends_at, own=effect: at(RUNGS[rung]).retry(own)
            )
        if step != "backoff":
            program = getattr(program, step)(effect)
        elif program.ends_at:
            program = program.backoff()
    return program.retry(draw(effects))


limited = st.tuples(
    programs(effects) | st.builds(lambda effect: at(FOREVER).retry(effect), asks),
    st.floats(0.5, 40) | st.none(),
)
unlimited = st.tuples(programs(effects | at_once(effects)), st.none())


@pytest.mark.slow
@given(limited | unlimited, st.integers(0, 10**6), st.sampled_from([powers_of_two, Constant(0.5)]))
def test_a_client_does_what_a_virtual_run_does(
    each: tuple[Any, float | None], seed: int, timing: Any
) -> None:
    program, within = each
    chance = Chancy(seed)
    lines, *end = simulated(program, chance, within, timing)
    assume(not chance.at_once)
    others, *their_end = run_virtually(program, Chancy(seed), within, timing)
    assert end == their_end
    assert [each[:2] for each in lines] == [each[:2] for each in others]
    if not any(each[3] is Aborted for each in lines):  # in virtual time it has its own outcome
        assert lines == others
