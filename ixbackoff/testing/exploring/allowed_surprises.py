"""What a search allows: its world, its programs, and the surprises of each command."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from ..._meaning.chains import Ladder
from ..._meaning.run_defaults import Defaults
from ..._words.commands import Interpreter
from ..._words.failure_classes import Predicate
from .history import Occurrence, Option
from .shared_cells import Recorder
from .states import NOT_PLAIN, state_of
from .surprises import Faults, Surprise

__tracebackhide__ = True


@dataclass
class Setting:
    """The arguments of `Model`, with the changes by name."""

    world: Callable[[], Any]
    interpreter: Callable[[Any], Interpreter[Any]]
    always: Callable[[Any], object]
    changes: Mapping[str, Callable[[Any], object]]
    forgets: Callable[[Any], object]
    state: Callable[[Any], object] | None


@dataclass
class Scope:
    """The arguments of `Model.explore`, and values derived from them."""

    setting: Setting
    programs: Sequence[tuple[Ladder, Defaults]]
    at_end: Callable[[Any, Any], object]
    faults: Faults
    may_raise: Predicate
    again: bool
    merge: bool

    def __post_init__(self) -> None:
        self.timed = False  # whether a program has asked for the time; then each state contains it
        self.recorder: Recorder | None = None  # if `None`, all orders of programs are tried
        self.interned: dict[object, tuple[Option, ...]] = {}
        self.changes = tuple(
            Occurrence("change", number, f"meanwhile {name}")
            for number, name in enumerate(self.setting.changes)
        )
        self.changing = list(self.setting.changes.values())
        self.durable = any(surprise.start == "durably" for surprise in self.all_faults())
        self.injected = {
            (surprise.failure.__class__, state_of(surprise.failure.args, NOT_PLAIN))
            for surprise in self.all_faults()
            if surprise.failure is not None
        }

    def all_faults(self) -> list[Surprise]:
        if isinstance(self.faults, Mapping):
            return [surprise for some in self.faults.values() for surprise in some]
        return [*self.faults]

    def faults_of(self, kind: type) -> Sequence[Surprise]:
        """Return the surprises of a kind of command, or those of its nearest base class."""
        if not isinstance(self.faults, Mapping):
            return self.faults
        for base in kind.__mro__:
            if base in self.faults:
                return self.faults[base]
        return ()

    def deaths_with_others(
        self, kind: type, name: str, paths: tuple[tuple[int, ...], ...]
    ) -> list[Option]:
        """Return surprises in which commands of other branches are done before the process dies."""
        return [
            surprise.with_others(name, beside)
            for surprise in self.faults_of(kind)
            if surprise.start
            for number in range(1, len(paths) + 1)
            for beside in combinations(paths, number)
        ]

    def in_part(self, kind: type, part: int) -> list[Option]:
        """Return the surprises that can happen to a command that is done in part."""
        return [
            surprise.in_part(part)
            for surprise in self.faults_of(kind)
            if surprise.effect and (surprise.start or surprise.failure is not None)
        ]

    def allows(self, failure: BaseException) -> bool:
        if not isinstance(failure, Exception):
            return False
        injected = (failure.__class__, state_of(failure.args, NOT_PLAIN)) in self.injected
        return bool(injected or self.may_raise(failure))
