"""A history as a table: each step, its outcome, and its changes of the world."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

from ..._running.traces import Performed
from ..._words.equality_by_fields import fields_of
from ..._words.standard_commands import Delay
from .allowed_surprises import Scope
from .checked_history_run import Walk
from .history import Broken, History, Occurrence, Option, short
from .history_execution import Machine
from .persistence import Persistent

__tracebackhide__ = True

NESTED = 2  # the depth to which the fields of a world are shown one by one
ITEM = 48  # the greatest number of characters for one value of the world


class TableLine(NamedTuple):
    """A step of the history, or a wait between two steps."""

    step: str  # the number of the step; empty for a wait
    who: str  # the name of the program, if there are several
    what: str
    said: str = ""  # the answer or the surprise
    strange: bool = False  # whether the step is a surprise
    changed: tuple[str, ...] = ()


class StoryWalk(Walk):
    """A walk that writes the table of its history."""

    def __init__(self, scope: Scope, history: History) -> None:
        super().__init__(scope, history, trace=[])
        self.performed: list[Performed] = self.trace if self.trace is not None else []
        self.shown = 0
        self.rows: list[TableLine] = []

    def act(self, machine: Machine, step: int | None, option: Option | None) -> None:
        self.add_waits()
        before, strand, begun = pictured(machine.world), machine.current, len(self.performed)
        # An occurrence is a step of its own, except a pick, which answers a command.
        alone = isinstance(option, Occurrence) and option.kind != "pick"
        what = str(option) if alone else short(strand.command)
        number = "again" if step is None else str(step)
        who = "" if alone else self.who(machine)
        try:
            super().act(machine, step, option)
        finally:
            said = "" if alone or option is None else str(option)
            if not alone and len(self.performed) > begun:
                said = outcome(option, said, self.performed[begun])
                self.shown = begun + 1
            changed = differences(before, pictured(machine.world))
            strange = option is not None
            self.rows.append(TableLine(number, who, what, said, strange, tuple(changed)))

    def who(self, machine: Machine) -> str:
        """Return the name of the program or branch whose turn it is, if there are several."""
        path = ".".join(map(str, machine.current.path))
        return f"{machine.owner.name}{path}" if path or len(self.scope.programs) > 1 else ""

    def add_waits(self) -> None:
        for performed in self.performed[self.shown :]:
            if isinstance(performed.command, Delay):
                self.rows.append(TableLine("", "", f"... waits {performed.command.seconds:g} s"))
        self.shown = len(self.performed)

    def lines(self) -> list[str]:
        steps = [row for row in self.rows if row.step]
        wide = max([len(row.what) for row in steps], default=0)
        names = max([len(row.who) for row in steps], default=0)
        numbers = max([2, *[len(row.step) for row in steps]])
        lines: list[str] = []
        for row in self.rows:
            if not row.step:
                lines.append(f"    {row.what}")
                continue
            who = f"{row.who:{names}} " if names else ""
            mark = "!" if row.strange else " "
            line = f"{mark}{row.step:>{numbers}}  {who}{row.what:{wide}}  {row.said}"
            lines.append(line.rstrip())
            lines += [f"        {change}" for change in row.changed]
        return lines


def outcome(option: Option | None, said: str, performed: Performed) -> str:
    """Write the outcome of a command after `said`, the text of its surprise."""
    if option is not None and (isinstance(option, Occurrence) or option.failure is not None):
        return said
    if performed.failure is not None:
        return f"{said} -> {short(performed.failure)}".strip()
    return said if performed.answer is None else f"{said} -> {short(performed.answer)}".strip()


def broken(scope: Scope, history: History, wrong: AssertionError, number: int) -> Broken:
    """Run again the history that raised `wrong`; return the error that shows its table."""
    story = StoryWalk(scope, history)
    try:
        story.run()
        reason = f"{reason_of(wrong)} (in the first run only: a world or program depends on chance)"
    except AssertionError as same:
        reason = reason_of(same)
    story.add_waits()
    again = f"again: explore(..., only={str(history)!r})"
    return Broken("\n".join([reason, *story.lines(), again]), reason, history, number)


def reason_of(wrong: AssertionError) -> str:
    """Return the first line of an assertion's message; without a message, its line of source."""
    text = str(wrong).strip().partition("\n")[0]
    if text:
        return text
    place = wrong.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    if place is None:
        return "an assertion does not hold"
    code = place.tb_frame.f_code
    line = linecache.getline(code.co_filename, place.tb_lineno).strip()
    return line or f"an assertion in {code.co_name} does not hold"


def pictured(value: Any, name: str = "", depth: int = NESTED) -> dict[str, str]:
    """Return the parts of a world as texts, by names such as `disk.written`."""
    parts = None if depth < 0 else parts_of(value, name)
    if parts is None:
        return {name or "world": short(value, ITEM)}
    picture: dict[str, str] = {}
    for path, part in parts.items():
        picture |= pictured(part, path, depth - 1)
    return picture


def parts_of(value: Any, name: str) -> dict[str, Any] | None:
    """Return the fields or items of a value by name, or `None` if it is shown as one text."""
    kind: type[Any] = value.__class__
    if issubclass(kind, dict):
        return {f"{name}[{key_of(key)}]": item for key, item in value.items()}
    dot = f"{name}." if name else ""
    if is_dataclass(value) and not name:
        return {one.name: getattr(value, one.name) for one in fields(value) if one.repr}
    if name and not issubclass(kind, Persistent):
        return None
    known: Callable[[Any], dict[str, Any]] = fields_of
    held = {f"{dot}{one}": item for one, item in known(value).items() if not one.startswith("_")}
    return held or None


def key_of(key: Any) -> str:
    return key if isinstance(key, str) else short(key, ITEM)


def differences(before: dict[str, str], after: dict[str, str]) -> list[str]:
    paths = [path for path in before | after if before.get(path) != after.get(path)]
    return [f"{p}: {before.get(p, 'nothing')} => {after.get(p, 'nothing')}" for p in paths]
