"""Simulated clients of a service that follows a script, and what is seen of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any
from unittest.mock import patch

from hypothesis import strategies as st

from ixbackoff import Constant, Do, Exponential, NotReady, Pick, Throttled, attempt
from ixbackoff.fleet import Events, Outcome, Request, Service, Serving, instantly, simulate
from ixbackoff.schedules import Timing
from ixbackoff.schedules.kinds import powers_of_two
from ixbackoff.schedules.shortening_jitter import DecorrelatedJitter, EqualJitter, Every, FullJitter
from ixbackoff.testing import Performed, Virtual, takes

from ..generators.programs import failures
from ..ways.programs import Ask

LONG = 20_000.0
Script = list[tuple[float, Any]]
"""Seconds, and what comes after them."""

seconds = st.sampled_from([0.0, 0.1, 1 / 3, 1.0, 2.5, 7.0, 30.0])
scripts: st.SearchStrategy[Script] = st.lists(
    st.tuples(seconds, st.integers(0, 5) | failures), min_size=1, max_size=8
)


def fresh(outcome: Any) -> Any:
    return type(outcome)(*outcome.args) if isinstance(outcome, Exception) else outcome


@dataclass(frozen=True, eq=False)
class Scripted(Service):
    """It gives each client one outcome after the other, round and round, each in its time.

    Attributes:
        scripts: one for each client, or one for all.
        at_once: whether what takes no time is given before `ask` has returned.
        limits: of the requests, as they came.
        abandoned: the requests that were given up.
    """

    scripts: list[Script]
    at_once: bool = True
    limits: list[tuple[int, float | None]] = field(default_factory=list)
    abandoned: list[Request] = field(default_factory=list)

    def begin(self, events: Events) -> Serving:
        return ScriptedServing(self, events)


class ScriptedServing(Serving):
    def __init__(self, model: Scripted, events: Events) -> None:
        self.model = model
        self.events = events
        self.rounds: dict[int, Iterator[tuple[float, Any]]] = {}

    def ask(self, request: Request) -> None:
        self.model.limits.append((request.client, request.limit))
        scripts = self.model.scripts
        script = cycle(scripts[request.client % len(scripts)])
        seconds, outcome = next(self.rounds.setdefault(request.client, script))
        if seconds or not self.model.at_once:
            self.events.after(seconds, self.end, (request, outcome))
        else:
            self.end((request, outcome))
        self.events.random.random()  # what a service does after it has answered

    def end(self, ended: tuple[Request, Any]) -> None:
        request, outcome = ended
        if isinstance(outcome, Exception):
            request.fail(fresh(outcome))
        else:
            request.answer(outcome)

    def abandoned(self, request: Request) -> None:
        self.model.abandoned.append(request)


ZERO = instantly(Pick.handled_by(lambda _: 0))
"""Chance as `Virtual` has it."""


def fleet(program: Any, *scripts: Script, **how: Any) -> Outcome:
    model = Scripted(list(scripts), how.pop("at_once", True))
    how = {"clients": 1, "seconds": LONG, "trace": True, **how}
    return simulate(program, model.serves(Ask) | ZERO, **how)


def line(happened: Performed) -> tuple[Any, ...]:
    failure = happened.failure
    told = None if failure is None else type(failure)
    return happened.at, repr(happened.command), happened.answer, told


def lines(outcome: Outcome, client: int = 0) -> list[tuple[Any, ...]]:
    return [line(happened) for happened in outcome.trace if happened.client == client]


def virtual(program: Any, script: Script, **how: Any) -> tuple[list[tuple[Any, ...]], float, int]:
    """Its trace, when it ended, and whether it ended well, in `Virtual`."""
    rounds = cycle(script)

    def answer(_: Ask) -> Any:
        seconds, outcome = next(rounds)
        return takes(seconds, fresh(outcome))

    world = Virtual(Ask.handled_by(answer))
    try:
        program.run(world.interpreter, **how)
    except Exception:
        return [line(performed) for performed in world.trace], world.now, 0
    return [line(performed) for performed in world.trace], world.now, 1


def run(outcome: Outcome, client: int = 0) -> tuple[list[tuple[Any, ...]], float, int]:
    return lines(outcome, client), outcome.ended, int(outcome.total(lambda second: second.well))


@attempt
def in_a_row(names: list[str]) -> Do[Ask, int]:
    total = 0
    for name in names:
        total += yield from Ask(name)
    return total


timings: st.SearchStrategy[Timing] = st.sampled_from(
    [
        powers_of_two,
        Constant(0.0),
        Every(2.0),
        Exponential().jittered(),
        Exponential(0.5, 1.1).jittered(3),
        Exponential(0.1) & Constant(1).jittered(),
        FullJitter(0.1, 10),
        EqualJitter(0.1, 10),
        DecorrelatedJitter(0.1, 10),
    ]
)
throttled = st.builds(Throttled, st.floats(0, 20))


FAILS: Script = [(0.0, NotReady())]


def seen(outcome: Outcome) -> Any:
    told = [
        (*line(happened), happened.client, getattr(happened.failure, "__notes__", None))
        for happened in outcome.trace
    ]
    return told, outcome.seconds, outcome.ended, outcome.events


def without_the_short_cut(lean: bool) -> Any:
    return nullcontext() if lean else patch("ixbackoff.fleet.simulator.retried", lambda _: None)
