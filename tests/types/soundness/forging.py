"""Tries to forge an index without Any, cast or `type: ignore`; they are written in `forgeries/`.

Each defines `forged`, a function that returns a program which its type lets go on from `N3`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ixbackoff import N3, Download, Program, Throttled, at
from ixbackoff.testing import Virtual

from ...support.checkers.typecheckers import Checker

PAGES = Path(__file__).parent / "forgeries"

HEAD = """\
from __future__ import annotations
import copy
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial, singledispatch, wraps
from typing import TYPE_CHECKING, Generic, Literal, NamedTuple, NewType, ParamSpec, Protocol
from typing import Never, Self, TypeAlias, TypedDict, TypeGuard, overload, runtime_checkable
from typing_extensions import TypeAliasType, TypeIs, TypeVar
from ixbackoff import *
from ixbackoff.testing import Virtual

Row: TypeAlias = Download | Delay
Low: TypeAlias = Program[N3, N1, None, Row]
High: TypeAlias = Program[N3, N3, None, Row]
I = TypeVar("I", bound=Nat)
O = TypeVar("O", bound=Nat)
J = TypeVar("J", bound=Nat)
T = TypeVar("T")
P = ParamSpec("P")
one = Download("http://localhost/1", "1")
low: Low = at(N3).do(one).wait().wait()
high: High = at(N3).do(one)

"""
"""The lines with which each of them begins."""

SECTION = re.compile(
    r"^## (?P<name>[^\n]+)\n+"
    r"accepted by: (?P<accepted>[^\n]+)\\\nat run time: (?P<refused>[^\n]+)\n+"
    r"```python\n(?P<text>.*?)```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Forgery:
    """One try to forge an index.

    Attributes:
        name: what it uses.
        accepted: the names of the type checkers that accept it.
        refused: what happens to it at run time.
        text: the module.
    """

    name: str
    accepted: frozenset[str]
    refused: str
    text: str


def forgeries() -> list[Forgery]:
    """All of them, in the order of the pages."""
    pages = "".join(page.read_text() for page in sorted(PAGES.glob("*.md")))
    found = [
        Forgery(
            match["name"],
            frozenset(match["accepted"].split(", ")) - {"none"},
            match["refused"],
            HEAD + match["text"],
        )
        for match in SECTION.finditer(pages)
    ]
    assert len(found) == pages.count("\n## "), "a section is not written as the others"
    return found


def accepted(checker: Checker, tried: Sequence[Forgery], folder: Path) -> list[bool]:
    """Which of them a type checker accepts."""
    files = [folder / f"forgery_{number}.py" for number in range(len(tried))]
    for file, forgery in zip(files, tried, strict=True):
        file.write_text(forgery.text)
    report = checker.check(files, folder)
    return [not report[file.resolve()] for file in files]


def fate(forgery: Forgery) -> str:
    """What happens to it at run time: how it is refused, or how it waits if it is not."""
    names: dict[str, Any] = {"__name__": __name__}  # dataclasses look their module up
    try:
        exec(forgery.text, names)  # noqa: S102
        program = names["forged"]()
        if not (isinstance(program, Program) and program.ends_at == 0):
            program = program >> at(N3).retry(names["one"])
    except TypeError:
        return "refused when it is put together"
    return " and ".join(sorted({ran(program, names, fails) for fails in (False, True)}))


def ran(program: Program[Any, Any], names: dict[str, Any], fails: bool) -> str:
    """What happens to it in a run where all commands are well, or all fail."""

    def download(command: Download) -> None:
        if fails:
            raise Throttled

    world = Virtual(Download.handled_by(download))
    interpreter: Any = world.interpreter
    if "answering" in names:
        interpreter = interpreter | names["answering"]
    try:
        program.run(interpreter)
    except TypeError:
        return "refused in its run"
    except Exception as error:
        assert world.waits == sorted(world.waits), "a wait is shorter than the one before"
        return f"fails with {type(error).__name__}, {len(world.waits)} waits"
    assert world.waits == sorted(world.waits), "a wait is shorter than the one before"
    return f"runs with {len(world.waits)} waits"
