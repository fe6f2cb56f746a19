"""`Model`: a small world and its handlers, and `explore`, which searches its histories."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from ..._meaning.chains import Ladder, not_ended, program_of
from ..._meaning.run_defaults import Defaults
from ..._words.commands import Command, Interpreter, Misuse
from ..._words.failure_classes import On, predicate
from ..._words.judging import is_transient
from ..._words.rungs import N0
from ..._writing.programs import Program
from ...schedules.algebra import Schedule, check_schedule
from ..virtual import Known
from .allowed_surprises import Scope, Setting
from .checked_history_run import DrawnWalk, TextWalk, Walk
from .history import Drawn, End, Explored, History
from .printing import broken
from .searching import Progress, Search
from .surprises import ONCE, Faults, checked_faults

__tracebackhide__ = True

A = TypeVar("A")
E = TypeVar("E")
W = TypeVar("W")


def nothing(*_: object) -> None:
    """Do nothing."""


def on_terminal(progress: Progress) -> None:
    """Print the progress of a search, if standard error is a terminal."""
    terminal = sys.__stderr__
    if terminal is not None and terminal.isatty():
        print(f"exploring: {progress}", file=terminal, flush=True)


class Model(Generic[W, E]):
    """A small world in which programs are explored: plain state, with handlers that change it.

    >>> from dataclasses import dataclass, field
    >>> from ixbackoff import N1, Command, Interpreter, at
    >>> from ixbackoff.testing.exploring import Model
    >>> @dataclass(frozen=True)
    ... class Charge(Command[None]):
    ...     order: str
    >>> @dataclass
    ... class Shop:
    ...     charges: list[str] = field(default_factory=list)
    ...     def interpreter(self) -> Interpreter[Charge]:
    ...         return Charge.handled_by(lambda command: self.charges.append(command.order))
    ...     def charged_once(self) -> None:
    ...         assert len(self.charges) <= 1, f"charged {len(self.charges)} times"
    >>> shop = Model(Shop, Shop.interpreter, always=Shop.charged_once)
    >>> shop.explore(at(N1).retry(Charge("42")))
    Traceback (most recent call last):
    ixbackoff.testing.exploring.Broken: charged 2 times
    ! 0  Charge(order='42')  is done, but answers ServerError
            charges: [] => ['42']
        ... waits 1 s
      1  Charge(order='42')
            charges: ['42'] => ['42', '42']
    again: explore(..., only='0 is done, but answers ServerError')

    Args:
        world: makes a fresh world; usually the class itself.
        interpreter: makes the interpreter that answers in a world; usually a method of the world.
        always: the check after each step; it fails by an `AssertionError`, or by returning `False`.
        changes: functions that change a world from outside, each at most once, at any moment.
        forgets: removes from a world the things that a dying process loses, such as locks.
        state: returns the comparable parts of a world; needed if the world is not plain data.

    Raises:
        Misuse: an argument is not a function, or two changes have one name.
    """

    def __init__(
        self,
        world: Callable[[], W],
        interpreter: Callable[[W], Interpreter[E]],
        *,
        always: Callable[[W], object] = nothing,
        changes: Sequence[Callable[[W], object]] = (),
        forgets: Callable[[W], object] = nothing,
        state: Callable[[W], object] | None = None,
    ) -> None:
        given = {"world": world, "interpreter": interpreter, "always": always, "forgets": forgets}
        if state is not None:
            given["state"] = state
        for name, function in given.items():
            if not callable(function):
                raise Misuse(f"{name}={function!r}: give a function of the world.")
        self._setting = Setting(world, interpreter, always, by_name(changes), forgets, state)

    def explore(
        self,
        *programs: Program[Any, N0, A, E | Known],
        at_end: Callable[[W, Sequence[End[A]]], object] | None = None,
        surprises: int = 2,
        faults: Faults = ONCE,
        may_raise: On = is_transient,
        again: bool = False,
        schedule: Schedule | None = None,
        within: float | None = None,
        only: str | Drawn | None = None,
        most: int = 1,
        merge: bool = True,
        progress: Callable[[Progress], object] = on_terminal,
    ) -> Explored:
        """Run programs in all histories with at most `surprises` surprises.

        A surprise is a fault, a change, the effect of a late command, a nonzero answer to `Pick`,
        or a switch to another program or branch. Histories with fewer surprises are run first.

        Args:
            programs: one program, or several concurrent ones, each in its own process.
            at_end: the check at the end, when all programs are over.
            surprises: the greatest number of surprises in a history.
            faults: the surprises of each command, or of each kind of command.
            may_raise: the failures that programs may raise; injected ones are always allowed.
            again: whether to run the first program once more at the end, without surprises;
                `at_end` is then called with the end of that run.
            schedule: the schedule of the waits, as for `run`.
            within: the time limit of each program, in seconds, as for `run`.
            only: the one history to run, as it was printed or drawn.
            most: the number of different failures after which to stop.
            merge: whether to visit equal states only once; `False` serves to test `Model(state=)`.
            progress: called about once a second with the progress of a long search; prints to a
                terminal by default.

        Raises:
            Broken: a check fails; the message is a history with the fewest surprises.
            ExceptionGroup: the failures, if `most` is above 1.
            Misuse: a program or the model cannot be explored.
        """
        check_number("surprises", surprises, 0)
        check_number("most", most, 1)
        scope = planned(
            self._setting,
            [checked_program(one, schedule, within) for one in programs],
            at_end=at_end or nothing,
            faults=checked_faults(faults),
            may_raise=predicate(may_raise),
            again=again,
            merge=merge,
        )
        if only is None:
            return Search(scope, surprises, most, progress).run()
        return run_only(scope, only)


def run_only(scope: Scope, only: object) -> Explored:
    walk: Walk
    if isinstance(only, Drawn):
        walk = DrawnWalk(scope, only)
    elif isinstance(only, str):
        walk = TextWalk(scope, only)
    else:
        raise Misuse(f"only={only!r}: give a history as it was printed, or a drawn one.")
    wrong: AssertionError | None = None
    try:
        walk.run()
    except AssertionError as error:
        wrong = error
    if wrong is not None:
        raise broken(scope, History(walk.taken), wrong, 1)
    return Explored(1, 0, 0 if walk.machine is None else walk.machine.performed)


def by_name(changes: Sequence[Callable[[Any], object]]) -> dict[str, Callable[[Any], object]]:
    """Return changes by the names of their functions, with spaces for underscores."""
    named: dict[str, Callable[[Any], object]] = {}
    for change in changes:
        if not callable(change):
            raise Misuse(f"changes: {change!r} is not a function of the world.")
        name = getattr(change, "__name__", "it changes").replace("_", " ")
        if name == "<lambda>":
            name = f"change {len(named) + 1}"
        if name in named:
            raise Misuse(f"changes: two functions are called {name!r}: give them distinct names.")
        named[name] = change
    return named


def checked_program(
    given: object, schedule: Schedule | None, within: float | None
) -> tuple[Ladder, Defaults]:
    """Return a program and the defaults of its run; raise Misuse if it cannot be explored."""
    program = program_of(given)
    if not isinstance(program, Ladder):
        hint = " write at(N0).do(...)" if isinstance(given, Command) else " write at(N3).retry(...)"
        raise Misuse(f"{given!r} is not a program:{hint}.")
    if program.ends_at:
        raise not_ended(program.ends_at)
    how = program._defaults.replace(schedule, within)
    check_schedule(how.schedule)
    if how.budget is not None or how.breaker is not None:
        raise Misuse(
            "A budget or a breaker is shared by all runs, so one history would change the next: "
            "explore the program without it."
        )
    return program, how


def planned(setting: Setting, programs: Sequence[tuple[Ladder, Defaults]], **how: Any) -> Scope:
    """Make a scope; check that each history has its own world, and a usable interpreter."""
    scope = Scope(setting, programs, **how)
    if not scope.programs:
        raise Misuse("There is nothing to explore: give a program, such as at(N3).retry(...).")
    world, other = setting.world(), setting.world()
    if world is other and world.__class__ not in (tuple, frozenset, str, int):
        raise Misuse("world() returned the same world twice: let it make a fresh one each time.")
    made: object = setting.interpreter(world)
    if not isinstance(made, Interpreter):
        raise Misuse(
            f"interpreter(world) returned {made!r}: return an Interpreter, whose handlers are not "
            "awaited, such as Kind.handled_by(world.method)."
        )
    return scope


def check_number(name: str, number: object, least: int) -> None:
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        raise Misuse(f"{name}={number!r}: give a whole number, {least} or more.")
