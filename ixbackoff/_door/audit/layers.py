"""Layers: places that try what is inside them up to `tries` times, and the table of known ones."""

from __future__ import annotations

import builtins
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from math import inf
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from .evaluation import NOTHING, UNKNOWN, Const, Env, External, Items, Made, Value, Values, number

TABLE = Path(__file__).with_name("libraries.toml")
LOCKS = ("uv.lock", "poetry.lock", "requirements*.txt")
EVERYTHING = ("builtins.Exception", "builtins.BaseException")
OURS, ONCE = "ixbackoff", 'nested="once"'
ANY, SAME = "?", "same"  # an unknown exception; the caught exception
RUNG = re.compile(r"ixbackoff\.(?:N(\d+)|FOREVER)$")
Caught: TypeAlias = tuple[str, bool | None]  # an exception; whether it is retried, if known


class Layer(NamedTuple):
    file: Path
    line: int
    name: str  # of the function, or of the call of another library
    label: str  # the name of the library, or "your loop"
    tries: float | None  # `None` if the source does not show it
    catches: tuple[Caught, ...] | None = None
    """Exceptions, in order, each with whether it is retried; `None` if a predicate decides."""
    gives: tuple[str, ...] = (SAME,)  # the exceptions that it raises after its last try
    flags: tuple[str, ...] = ()  # remarks, such as "no delay"
    library: str = ""
    off: str = ""  # what switches it off, such as `max_retries=0`
    once: bool = False  # `nested="once"`
    sure: bool = True  # false for a loop that perhaps only prompts a user or reads

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"


def dig(given: Env, path: str) -> Values | None:
    """Return the values at a path such as `stop.stop_after_attempt`; `None` if it is not given."""
    first, _, rest = path.partition(".")
    values = given.named.get(first)
    if values is None or not rest:
        return values
    found: list[Value] = []
    for one in values:
        if one == NOTHING:
            continue
        if isinstance(one, Const) or one == UNKNOWN:
            found.append(one)
        elif isinstance(one, External):
            found += dig(one.given, rest) or ()
        elif isinstance(one, Items):
            found += one.inside.named.get(rest, ())
    return (*found,) or None


class LayerTable:
    """The rows of `TABLE` for the versions that a code base uses, and classes of exceptions."""

    def __init__(self, more: Path | None, roots: Sequence[Path]) -> None:
        self.rows: list[tuple[re.Pattern[str], dict[str, Any]]] = []
        self.parents: dict[str, str] = {}
        self.passes: dict[str, int] = {}  # of functions: the position of an argument that they call
        self.classes: dict[str, list[str]] = {}  # of the code base: each class with its bases
        for file in filter(None, (more, TABLE)):
            read = tomllib.loads(file.read_text(encoding="utf-8"))
            self.parents |= {
                one: base for base, all_ in read.get("bases", {}).items() for one in all_
            }
            self.passes |= read.get("passes", {})
            for row in read.get("row", []):
                if matches(used_version(row["library"], roots), row.get("versions", "")):
                    self.rows.append((re.compile(row["calls"]), row))
        calls = [row["calls"].replace("\\", "") for _, row in self.rows]
        self.libraries = {one.partition(".")[0] for one in (*calls, *self.parents)}

    def find(self, path: str, *, wraps: bool) -> dict[str, Any] | None:
        rows = (row for pattern, row in self.rows if pattern.fullmatch(path))
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

    def retried(self, catches: Iterable[Caught] | None, failure: str) -> bool | None:
        """Return whether a layer tries again after an exception; `None` if that is not known."""
        if catches is None:
            return None
        bases = {*self.ancestry(failure), *EVERYTHING}
        maybe = False
        for name, again in catches:
            if name in bases:
                return again or (None if maybe else again)
            if again and failure in self.ancestry(name):
                return True
            known = {failure, name} & {*self.classes} or failure in self.parents
            root = failure.partition(".")[0]
            related = not known and root == name.partition(".")[0] != "builtins"
            maybe |= again is not False and (ANY in (failure, name) or related)
        return None if maybe else False

    def layer(self, row: dict[str, Any], given: Env, file: Path, line: int) -> Layer:
        """Return the layer of a call that has these arguments."""
        named, library, tries = given.named, row["library"], row.get("tries")

        def found(key: str) -> list[Values]:
            all_ = (dig(given, path) for path in row.get(key, ()))
            return [values for values in all_ if values is not None]

        label, counts = f"{library}'s default", [count(values) for values in found("count")]
        if counts or found("unknown") or ("**" in named and tries != 1):
            label, known = library, [one for one in counts if one is not None]
            tries = (known[0] + row.get("adds", 0) if known else None) or None
        flags = ["no stop"] if row.get("wraps") and tries == inf and library != OURS else []
        if "delays" in row and row["delays"] not in named and (tries or 3) > 2:
            flags.append("no delay")
        caught = found("catches")
        kinds = tuple((name, True) for values in caught for name in self.names(values))
        catches = kinds or None if caught else ((EVERYTHING[0], True),)
        if spared := [name for values in found("spares") for name in self.names(values)]:
            catches = (*((name, False) for name in spared), (EVERYTHING[0], True))
        catches = None if named.keys() & row.get("judges", ()) else catches
        same = Const(True) in named.get(row.get("unless", ""), ())
        gives = (SAME,) if same else (*row.get("gives", (SAME,)),)
        once, off = Const("once") in named.get("nested", ()), row.get("off", "")
        return Layer(file, line, "", label, tries, catches, gives, (*flags,), library, off, once)

    def names(self, values: Iterable[Value]) -> Iterator[str]:
        """Yield the names of classes of exceptions."""
        for one in values:
            if isinstance(one, Items):
                yield from self.names(one.inside.values)
            elif isinstance(one, Made):
                yield one.scope.key
            elif isinstance(one, External) and one != UNKNOWN and not one.path.endswith("()"):
                yield one.path

    def know(self, kinds: Values) -> None:
        """Remember an exception class and its bases."""
        names = [*self.names(kinds)]
        self.classes[names[0]] = names


def count(values: Values) -> float | None:
    rungs = [RUNG.search(one.path) for one in values if isinstance(one, External)]
    rung = next(filter(None, rungs), None)
    return number(values) if rung is None else float(rung[1] or inf)


def used_version(library: str, roots: Sequence[Path]) -> list[int]:
    """Return the version in a lock file, else the installed one, else the newest."""
    lock = re.compile(rf'^(?:name = "{library}"\nversion = "|{library}==)([\d.]+)', re.M | re.I)
    for file in (file for root in roots for name in LOCKS for file in sorted(root.glob(name))):
        if found := lock.search(file.read_text(encoding="utf-8", errors="replace")):
            return parts(found[1])
    try:
        return parts(version(library))
    except PackageNotFoundError:
        return [10**9]


def matches(used: list[int], versions: str) -> bool:
    """Return whether a version is in a range such as `>=1,<2`."""
    limits = [(one[0], parts(one)) for one in filter(None, versions.split(","))]
    return all(used < limit if sign == "<" else used >= limit for sign, limit in limits)


def parts(text: str) -> list[int]:
    return [int(one) for one in re.findall(r"\d+", text)]
