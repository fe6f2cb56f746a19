"""Layers: places that make what is inside them happen up to `tries` times; and their table."""

from __future__ import annotations

import builtins
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import translate
from importlib.metadata import PackageNotFoundError, version
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

from .code_base import Scope
from .expressions import UNKNOWN, Const, Env, External, Items, Made, Value, Values, number

TABLE = Path(__file__).with_name("table.toml")
LOCKS = ("uv.lock", "poetry.lock", "requirements*.txt")
EVERYTHING = ("builtins.Exception", "builtins.BaseException")
OURS = "ixbackoff"
ANY, SAME = "?", "same"  # an unknown exception; the one that was caught
RUNG = re.compile(r"ixbackoff\.(?:N(\d+)|FOREVER)$")


class Layer(NamedTuple):
    file: Path
    line: int
    name: str  # of the function, or of the call of another library
    label: str
    tries: float | None  # `None` if the source does not show it
    waits: float | None = None  # seconds, in all
    catches: tuple[tuple[str, bool | None], ...] | None = None
    """Exceptions, in the order of the handlers, and whether it goes on; `None`: a predicate."""
    gives: tuple[str, ...] = (SAME,)
    flags: tuple[str, ...] = ()
    library: str = ""
    off: str = ""
    once: bool = False  # `nested="once"`


def dig(given: Env, path: str) -> Values | None:
    """Return the values of an argument of an argument, such as `stop.stop_after_attempt`.

    Return `None` if there is no such argument.
    """
    first, _, rest = path.partition(".")
    values = dict(given).get(first)
    if values is None or not rest:
        return values
    found: list[Value] = []
    for one in values:
        if isinstance(one, External):
            found += dig(one.given, rest) or ()
        elif isinstance(one, Items) and rest in one.keys:
            found += one.items[one.keys.index(rest)]
        elif isinstance(one, Const):
            found.append(one)
    return (*found,) or None


class Table:
    """The rows, for the versions that a code base uses, and the classes of exceptions."""

    def __init__(self, more: Path | None, roots: Sequence[Path]) -> None:
        self.rows: list[tuple[re.Pattern[str], dict[str, Any]]] = []
        self.parents: dict[str, str] = {}
        self.passes: dict[str, int] = {}
        self.classes: dict[str, list[str]] = {}  # of the code base: their names and their bases
        self.versions: dict[str, str] = {}
        for file in filter(None, (more, TABLE)):
            read = tomllib.loads(file.read_text(encoding="utf-8"))
            self.parents |= read.get("parents", {})
            self.passes |= read.get("passes", {})
            for row in read.get("row", []):
                used = self.versions.setdefault(row["library"], used_version(row["library"], roots))
                if matches(used, row.get("versions", "")):
                    globs = (translate(glob) for call in row["calls"] for glob in choices(call))
                    self.rows.append((re.compile("|".join(globs)), row))
        calls = [call for _, row in self.rows for call in row["calls"]]
        self.libraries = {one.partition(".")[0] for one in (*calls, *self.parents)}

    def find(self, path: str, *, wraps: bool) -> dict[str, Any] | None:
        rows = (row for pattern, row in self.rows if pattern.match(path))
        return next((row for row in rows if row.get("wraps", False) == wraps), None)

    def ancestry(self, name: str) -> Iterator[str]:
        """Yield an exception and its bases, as far as they are known."""
        while name:
            yield name
            for base in self.classes.get(name, ())[1:]:
                yield from self.ancestry(base)
            kind = getattr(builtins, name.removeprefix("builtins."), None)
            yield from (f"builtins.{one.__name__}" for one in getattr(kind, "__mro__", ()))
            name = self.parents.get(name, "")

    def retried(self, layer: Layer, failure: str) -> bool | None:
        """Return whether a layer tries again after an exception; `None` if that is not known."""
        if layer.catches is None:
            return None
        bases = {*self.ancestry(failure), *EVERYTHING}
        maybe = False
        for name, again in layer.catches:
            if name in bases:
                if again is None and failure in self.parents:
                    return True  # what a client gives up with is what may pass
                return again
            if again and failure in self.ancestry(name):
                return True
            known = failure in self.classes or failure in self.parents or name in self.classes
            related = not known and failure.partition(".")[0] == name.partition(".")[0]
            maybe |= again is not False and (ANY in (failure, name) or related)
        return None if maybe else False

    def layer(self, row: dict[str, Any], given: Env, file: Path, line: int) -> Layer | None:
        """Return the layer of a call that has these arguments; `None` if it is none."""
        named = dict(given)
        if row.get("needs", "") not in {"", *named}:
            return None
        library, tries = row["library"], row.get("tries")
        label = f"{library}'s default"
        found = [
            values for path in row.get("count", ()) if (values := dig(given, path)) is not None
        ]
        if found or "**" in named or any(one in named for one in row.get("unknown", ())):
            label = library
            counts = [count(values) for values in found]
            tries = next((one + row.get("adds", 0) for one in counts if one is not None), None)
        flags = ["no delay"] if row.get("delays", "wait") not in named and "delays" in row else []
        flags = flags if (tries or 3) > 2 else []
        flags += ["no stop"] if row.get("wraps") and tries == inf and library != OURS else []
        waits = None
        if "base" in row and tries is not None and not named.keys() & {"wait", "schedule"}:
            steps = range(min(int(min(tries, 1e4)), 10_000) - 1)
            waits = sum(
                min(row["base"] * 2.0 ** min(one, 99), row.get("cap", inf)) for one in steps
            )
        found = [
            values for path in row.get("catches", ()) if (values := dig(given, path)) is not None
        ]
        caught = tuple((name, True) for values in found for name in self.names(values))
        catches = caught or None if found else ((EVERYTHING[0], True),)
        same = Const(True) in named.get(row.get("unless", ""), ())
        gives = (SAME,) if same else (*row.get("gives", (SAME,)),)
        once = Const("once") in named.get("nested", ())
        off = row.get("off", "")
        return Layer(
            file, line, "", label, tries, waits, catches, gives, (*flags,), library, off, once
        )

    def names(self, values: Iterable[Value]) -> Iterator[str]:
        """Yield the names of classes of exceptions."""
        for one in values:
            if isinstance(one, Items):
                yield from (name for inside in one.items for name in self.names(inside))
            elif isinstance(one, Made):
                yield one.scope.key
            elif isinstance(one, External) and one != UNKNOWN and not one.path.endswith("()"):
                yield one.path

    def know(self, kinds: Values) -> None:
        """Remember a class of an exception and its bases."""
        names = [*self.names(kinds)]
        self.classes[names[0]] = names


def count(values: Values) -> float | None:
    rungs = [RUNG.search(one.path) for one in values if isinstance(one, External)]
    rung = next(filter(None, rungs), None)
    return number(values) if rung is None else float(rung[1] or inf)


def choices(glob: str) -> list[str]:
    """Return `a.b` and `a.c` for `a.{b,c}`."""
    before, brace, rest = glob.partition("{")
    inside, _, after = rest.partition("}")
    return [before + one + after for one in inside.split(",")] if brace else [glob]


def used_version(library: str, roots: Sequence[Path]) -> str:
    """Return the version in a lock file, else the installed one; empty for the newest."""
    lock = re.compile(rf'^(?:name = "{library}"\nversion = "|{library}==)([\d.]+)', re.M | re.I)
    for file in (file for root in roots for name in LOCKS for file in sorted(root.glob(name))):
        if found := lock.search(file.read_text(encoding="utf-8", errors="replace")):
            return found[1]
    try:
        return version(library)
    except PackageNotFoundError:
        return ""


def matches(used: str, versions: str) -> bool:
    """Return whether a version is in a range such as `>=1,<2`; the newest is in an open one."""
    limits = [(one[0], parts(one)) for one in filter(None, versions.split(","))]
    here = parts(used) or [10**9]
    return all(here < limit if sign == "<" else here >= limit for sign, limit in limits)


def parts(text: str) -> list[int]:
    return [int(one) for one in re.findall(r"\d+", text)]
