"""Layers: places that make what is inside them happen up to `tries` times; and their table."""

from __future__ import annotations

import builtins
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import translate
from importlib.metadata import PackageNotFoundError, version
from itertools import takewhile
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

from .code_base import Scope
from .values import UNKNOWN, Const, Env, External, Items, Kind, Values, number

TABLE = Path(__file__).with_name("table.toml")
LOCKS = ("uv.lock", "poetry.lock", "requirements*.txt")
EVERYTHING = ("builtins.Exception", "builtins.BaseException")
ANY, SAME = "?", "same"  # an unknown exception; the one that was caught
RUNG = re.compile(r"ixbackoff\.(?:N(\d+)|FOREVER)$")


class Layer(NamedTuple):
    file: Path
    line: int
    label: str
    tries: float | None  # `None` if the source does not show it
    waits: float | None = None  # seconds, in all
    catches: tuple[tuple[str, bool], ...] | None = None
    """Exceptions in the order of their handlers, and whether it tries again; `None`: a predicate."""
    gives: tuple[str, ...] = (SAME,)
    off: str = ""
    flags: tuple[str, ...] = ()
    library: str = ""
    name: str = ""  # of the function, or of the call of another library
    once: bool = False  # `nested="once"`


class Row(NamedTuple):
    """A library that tries again: see the comments in `table.toml`."""

    library: str
    calls: Sequence[str]
    wraps: bool = False
    count: Sequence[str] = ()
    adds: int = 0
    tries: float | None = None
    unknown: Sequence[str] = ()
    needs: str = ""
    base: float | None = None
    cap: float = inf
    delays: str = ""
    catches: Sequence[str] = ()
    gives: Sequence[str] = (SAME,)
    unless: str = ""
    off: str = ""
    versions: str = ""
    measured: str = ""


def dig(given: Env, path: str) -> Values | None:
    """Return the values of `stop.stop_after_attempt`: an argument of an argument.

    Return `None` if the first argument was not given.
    """
    first, _, rest = path.partition(".")
    values = dict(given).get(first)
    if values is None or not rest:
        return values
    found: list[Any] = []
    for one in values:
        if isinstance(one, External):
            found += dig(one.given, rest) or ()
        elif isinstance(one, Items) and rest in one.keys:
            found += one.items[one.keys.index(rest)]
        elif isinstance(one, Const) and one.value in (None, False):
            found.append(one)
    return tuple(found)


def count(values: Values) -> float | None:
    for one in values:
        if isinstance(one, External) and (rung := RUNG.search(one.path)):
            return float(rung[1]) if rung[1] else inf
    return number(values)


class Table:
    """The rows, for the versions that a code base uses, and the classes of exceptions."""

    def __init__(self, more: Path | None, roots: Sequence[Path]) -> None:
        self.rows: list[tuple[re.Pattern[str], Row]] = []
        self.parents: dict[str, str] = {}
        self.passes: dict[str, int] = {}
        self.classes: dict[str, list[str]] = {}
        versions: dict[str, str] = {}
        for file in filter(None, (more, TABLE)):
            read = tomllib.loads(file.read_text(encoding="utf-8"))
            self.parents |= read.get("parents", {})
            self.passes |= read.get("passes", {})
            for one in read.get("row", []):
                row = Row(**one)
                used = versions.setdefault(row.library, chosen(row.library, roots))
                if matches(used, row.versions):
                    globs = (translate(glob) for call in row.calls for glob in braces(call))
                    self.rows.append((re.compile("|".join(globs)), row))
        self.libraries = {call.partition(".")[0] for _, row in self.rows for call in row.calls}

    def find(self, path: str, *, wraps: bool) -> Row | None:
        for pattern, row in self.rows:
            if row.wraps == wraps and pattern.match(path):
                return row
        return None

    def ancestry(self, name: str) -> Iterator[str]:
        """Yield an exception and its bases, as far as they are known."""
        if name in self.classes:
            for one in self.classes[name]:
                yield one
                yield from () if one == name else self.ancestry(one)
            return
        while name:
            yield name
            kind = getattr(builtins, name.removeprefix("builtins."), None)
            if isinstance(kind, type):
                yield from (f"builtins.{one.__name__}" for one in kind.__mro__[1:-1])
                return
            name = self.parents.get(name, "")

    def retried(self, layer: Layer, failure: str) -> bool | None:
        """Return whether a layer tries again after an exception; `None` if that is not known."""
        if layer.catches is None:
            return None
        bases = {*self.ancestry(failure)}
        maybe = False
        for name, again in layer.catches:
            if name in EVERYTHING or name in bases:
                return again
            if again and failure in self.ancestry(name):
                return True
            known = failure in self.classes or failure in self.parents or name in self.classes
            foreign = failure.partition(".")[0] != name.partition(".")[0]
            maybe |= again and (ANY in (failure, name) or not known and not foreign)
        return None if maybe else False

    def layer(self, row: Row, given: Env, file: Path, line: int) -> Layer | None:
        """Return the layer of a call that has these arguments; `None` if it is none."""
        named = dict(given)
        if row.needs and row.needs not in named:
            return None
        tries, label = row.tries, f"{row.library}'s default"
        found = [values for path in row.count if (values := dig(given, path)) is not None]
        if found:
            number = next((n for values in found if (n := count(values)) is not None), None)
            tries, label = None if number is None else number + row.adds, row.library
        elif "**" in named or any(one in named for one in row.unknown):
            tries, label = None, row.library
        waits = None
        if row.base is not None and tries is not None and not named.keys() & {"wait", "schedule"}:
            steps = range(min(int(tries), 1000) - 1) if tries < inf else ()
            waits = sum(min(row.base * 2**one, row.cap) for one in steps) if tries < inf else inf
        flags = ["no delay"] if row.delays and row.delays not in named and (tries or 3) > 2 else []
        flags += ["no stop"] if row.wraps and tries == inf and row.library != "ixbackoff" else []
        waits = 0 if "no delay" in flags else waits
        catches: list[str] | None = [EVERYTHING[0]]
        if found := [values for path in row.catches if (values := dig(given, path)) is not None]:
            catches = [name for values in found for name in self.names(values)] or None
        again = None if catches is None else tuple((name, True) for name in catches)
        gives = tuple(row.gives)
        if row.unless and Const(True) in named.get(row.unless, ()):
            gives = (SAME,)
        once = Const("once") in named.get("nested", ())
        layer = Layer(file, line, label, tries, waits, again, gives, row.off, (*flags,))
        return layer._replace(library=row.library, once=once)

    def names(self, values: Iterable[Any]) -> Iterator[str]:
        """Yield the names of classes of exceptions."""
        for one in values:
            if isinstance(one, Items):
                yield from (name for inside in one.items for name in self.names(inside))
            elif isinstance(one, Kind):
                yield one.of.key
            elif isinstance(one, External) and one != UNKNOWN and not one.path.endswith("()"):
                yield one.path

    def know(self, scope: Scope, ancestors: list[Scope | str]) -> None:
        names = [one if isinstance(one, str) else one.key for one in ancestors]
        self.classes[scope.key] = names


def braces(glob: str) -> list[str]:
    """Return `a.b` and `a.c` for `a.{b,c}`; `[` is no set of letters here."""
    before, brace, rest = glob.partition("{")
    inside, _, after = rest.partition("}")
    return [before + one + after for one in inside.split(",")] if brace else [glob]


def chosen(library: str, roots: Sequence[Path]) -> str:
    """Return the version in a lock file, else the installed one; empty for the newest."""
    lock = re.compile(rf'^(?:name = "{library}"\nversion = "|{library}==)([\d.]+)', re.M | re.I)
    for root in roots:
        for name in LOCKS:
            for file in sorted(root.glob(name)):
                if found := lock.search(file.read_text(encoding="utf-8", errors="replace")):
                    return found[1]
    try:
        return version(library)
    except PackageNotFoundError:
        return ""


def matches(used: str, versions: str) -> bool:
    """Return whether a version is in a range such as `>=1,<2`; the newest is in an open one."""
    for one in filter(None, versions.split(",")):
        limit = parts(one.strip("<>="))
        if one.startswith("<") and (not used or parts(used) >= limit):
            return False
        if one.startswith(">=") and used and parts(used) < limit:
            return False
    return True


def parts(text: str) -> list[int]:
    return [int(one) for one in takewhile(str.isdecimal, text.split("."))]
