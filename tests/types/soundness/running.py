"""Runs programs six times each, in virtual time, and says which promise is broken."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from inspect import iscoroutine
from typing import Any

from ixbackoff import Call, Download, Program, Throttled, plan
from ixbackoff.testing import Virtual

from .arithmetic import DEEPEST, IllFormed, Place, hidden, most_tries, most_waits, put_together
from .cases import Case
from .checking import IN_A_FILE, module
from .machine import SCRIPTS, Failure, Machine, Outcome, Script, script_for

EXCEPTIONS: dict[str, Callable[[Failure], Exception]] = {
    "Throttled": lambda failure: Throttled(failure.seconds or None),
    "KeyError": lambda failure: KeyError("not in `on`"),
}
REFUSED = "TypeError"
"""The outcome of a run that the library refuses, with `TypeError` or its kind `Misuse`."""


PLAN = "no more than the plan says"
"""The promise of `plan`."""


@dataclass
class Findings:
    """What came of all runs.

    Attributes:
        runs: how many there were.
        broken: for each promise that was broken, how, and by which program.
        refused: how many wrong programs were refused when they were put together or begun.
        late: how many were refused in a run, at the wrong step at the latest.
        hidden: how many have nothing wrong that a run can come to.
        endless: how many runs waited more often than the deepest ladder with an end could.
        above_types: how many runs of right ones tried an effect more often than their types say.
            Behind a function that was passed over, the library takes the highest rung it can be.
    """

    runs: int = 0
    broken: dict[str, list[str]] = field(default_factory=dict)
    refused: int = 0
    late: int = 0
    hidden: int = 0
    endless: int = 0
    above_types: int = 0

    def check(self, kept: bool, promise: str, case: Case, *told: object) -> None:
        """Write down a promise that was not kept."""
        if not kept:
            told_of = " ".join(map(str, told))
            self.broken.setdefault(promise, []).append(f"{told_of}\n{case}")


def findings(cases: Sequence[Case]) -> Findings:
    """Put all programs together and run them."""
    found = Findings()
    for first in range(0, len(cases), IN_A_FILE):
        held = cases[first : first + IN_A_FILE]
        names: dict[str, Any] = {"__name__": __name__}  # dataclasses look their module up
        exec(module(held), names)  # noqa: S102
        for case in held:
            run_case(case, names, found)
    return found


def run_case(case: Case, names: dict[str, Any], found: Findings) -> None:
    """Put a program together, and run it if that is as it should be."""
    try:
        place = put_together(case.piece)
    except IllFormed:
        place = None
    try:
        program = done(names[f"case_{case.number}"]())
    except TypeError as error:
        found.check(place is None, "put together what is right", case, error)
        found.refused += 1
        return
    found.check(place is not None, "refuse what is wrong when it is put together", case)
    if place is not None:
        outcomes = list(run_all(case, program, names[f"run_{case.number}"], place, found))
        if not case.right:
            tell_refusals(case, outcomes, place, found)


def run_all(
    case: Case, program: Program[Any, Any], run: Any, place: Place, found: Findings
) -> Iterator[tuple[Outcome, Machine]]:
    """The outcome of a run by each script, and the functions that it entered."""
    for name in SCRIPTS:
        script = script_for(case.piece, name)
        machine = Machine(case.piece.start, script)
        outcome = performed(run, script)
        found.runs += 1
        found.endless += len(outcome.waits) > DEEPEST
        try:
            foreseen = machine.outcome(case.piece)
        except IllFormed:
            foreseen = Outcome(REFUSED, machine.calls, machine.waits)
        if place.known and place.highest:
            foreseen = Outcome(REFUSED, 0, [])
        told = (name, outcome, foreseen)
        found.check(outcome == foreseen, "run as the table of meanings says", case, *told)
        check_promises(case, outcome, machine, found, name)
        if case.right:
            check_plan(case, program, outcome, machine.tries.total(), found, name)
        yield outcome, machine


def check_promises(
    case: Case, outcome: Outcome, machine: Machine, found: Findings, name: str
) -> None:
    """The promises that hold for right and for wrong programs."""
    waits = outcome.waits
    found.check(waits == sorted(waits), "no wait is shorter than the one before", case, name, waits)
    found.check(len(waits) <= most_waits(case.piece), "at most N waits", case, name, waits)
    if case.right:
        found.check(outcome.failure != REFUSED, "run what is right", case, name)
        most = most_tries(case.piece, typed=False)
        found.check(machine.tries <= most, "no more tries than rungs", case, name)
        found.above_types += not machine.tries <= most_tries(case.piece, typed=True)


def check_plan(
    case: Case, program: Program[Any, Any], outcome: Outcome, tries: int, found: Findings, name: str
) -> None:
    """That the plan promised as much as happened."""
    planned = plan(program)
    script = script_for(case.piece, name)
    asked = any(one is not None and one.seconds for one in map(script, range(outcome.calls)))
    kept = (
        len(outcome.waits) <= planned.wait_count
        and (asked or sum(outcome.waits) <= planned.seconds)
        and (planned.tries is None or tries <= planned.tries)
    )
    told = (name, outcome, f"with {tries} tries", f"\n{planned}")
    found.check(kept, PLAN, case, *told)


def tell_refusals(
    case: Case, outcomes: list[tuple[Outcome, Machine]], place: Place, found: Findings
) -> None:
    """Count how a wrong program was refused; or that nothing of what is wrong could be run."""
    if place.known and place.highest:
        found.refused += 1
    elif any(outcome.failure == REFUSED for outcome, _ in outcomes):
        found.late += 1
    else:
        found.hidden += 1
        entered = set[int]().union(*(machine.entered for _, machine in outcomes))
        trusted = any(machine.trusted for _, machine in outcomes)
        seen = not (trusted or hidden(case.piece, entered))
        found.check(not seen, "refuse what is wrong in a run", case)


def performed(run: Any, script: Script) -> Outcome:
    """What came of a program that the library ran in virtual time."""
    calls: list[Download | Call[None]] = []

    def download(command: Download | Call[None]) -> None:
        calls.append(command)
        failure: Failure | None = script(len(calls) - 1)
        if failure is not None:
            raise EXCEPTIONS[failure.kind](failure)

    world = Virtual(Download.handled_by(download) | Call[None].handled_by(download))
    try:
        done(run(world.interpreter))
    except (Throttled, KeyError) as error:
        return Outcome(type(error).__name__, len(calls), world.waits)
    except TypeError:
        return Outcome(REFUSED, len(calls), world.waits)
    return Outcome("", len(calls), world.waits)


def done(answer: Any) -> Any:
    """The answer of a function, also of a coroutine function."""
    if iscoroutine(answer):
        coroutine: Coroutine[Any, Any, Any] = answer
        return asyncio.run(coroutine)
    return answer
