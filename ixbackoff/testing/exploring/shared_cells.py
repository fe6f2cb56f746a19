"""The cells of a world (its attributes, and the keys of its dicts), and which commands share one.

With a `Recorder`, a search switches programs only before a command that shares a cell.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import getattr_static
from sys import getrefcount
from types import FunctionType
from typing import Any

from .states import is_plain, may_change

__tracebackhide__ = True

Touch = tuple[str, Any, bool]
"""The attribute of a world, the key in its dict or `WHOLE`, and whether the cell may be written."""

WHOLE = object()
EVERYTHING: Touch = ("", WHOLE, True)
VISIBLE: Touch = ("", "always", True)
"""A touch of an invented cell, which no world has. A command gets this touch if the command and
`always` touch the same cell, and at least one of them may write it. So any two such
commands count as sharing a cell with each other, even if they touch different ones."""

_one: dict[str, Any] = {"one": {}}
ALONE = getrefcount(_one["one"])  # the count for an object that only one other refers to


class Cells(dict[Any, Any]):
    """A dict in a world, which records the keys that handlers use."""

    __class__: Any = property(lambda _: dict)
    name = ""  # the attribute's name; empty for a copy made by `type(cells)(...)`
    touched: set[Touch] = set()  # noqa: RUF012

    def __reduce_ex__(self, _: Any) -> Any:
        return (dict, ({**self},))


def touching(method: Callable[..., Any], by_key: bool, writes: bool) -> Callable[..., Any]:
    """Return a method of `dict` that records what it touches."""

    def touch(self: Cells, *given: Any, **named: Any) -> Any:
        self.touched.discard(("", self.name, True))
        self.touched.add((self.name, WHOLE, not by_key))
        if by_key:
            self.touched.add((self.name, given[0], writes))
        value = method(self, *given, **named)
        if by_key and may_change(value):
            self.touched.add((self.name, given[0], True))
        return value

    return touch


READS, WRITES = ("__getitem__", "__contains__", "get"), ("__setitem__", "__delitem__", "pop")
UNUSED = {*vars(object), "fromkeys", "__class_getitem__"} - {"__eq__", "__ne__", "__repr__"}
for _name in {*vars(dict)} - UNUSED:
    _writes = _name in (*WRITES, "setdefault")
    _touch = touching(getattr(dict, _name), _writes or _name in READS, _writes)
    setattr(Cells, _name, _touch)


def recording(given: type, touched: set[Touch]) -> type:
    """Make a subclass of the world's class `given`; it records the attributes that handlers use."""
    kind: Any = given
    plain = (FunctionType, staticmethod, classmethod, property)
    methods = {name for name in dir(kind) if isinstance(getattr_static(kind, name), plain)}
    usual = {name for name in dir(kind) if name.startswith("__")} - {"__dict__"} | methods

    def get(self: object, name: str) -> Any:
        if name in usual:
            return kind.__getattribute__(self, name)
        touched.add(EVERYTHING if name == "__dict__" else (name, WHOLE, False))
        value: Any = kind.__getattribute__(self, name)
        if type(value) is Cells and value.name == name:
            fetched = ("", name, True)  # discarded when a method of the dict is called
            touched.add(EVERYTHING if fetched in touched else fetched)
        elif may_change(value):
            touched.add((name, WHOLE, True))
        return value

    def changing(name: str) -> Callable[..., Any]:
        def change(self: object, one: Any, *rest: Any) -> Any:
            whole = one in usual or name == "__reduce_ex__"
            touched.add(EVERYTHING if whole else (one, WHOLE, True))
            return getattr(kind, name)(self, one, *rest)

        return change

    space: dict[str, Any] = {"__slots__": (), "__class__": property(lambda _: kind)}
    for name in ("__setattr__", "__delattr__", "__reduce_ex__"):
        space[name] = changing(name)
    made: type = kind.__class__(kind.__name__, (kind,), space | {"__getattribute__": get})
    return made


class Recorder:
    """The shared cells, and the touches of each command, by its program (`user`) and its hash."""

    def __init__(self) -> None:
        self.touched: set[Touch] = set()  # since it was last cleared
        self.touches: dict[tuple[int, int], set[Touch]] = {}
        # by cell and user: whether the user may write the cell
        self.users: dict[tuple[str, Any], dict[int, bool]] = {}
        self.shared: set[tuple[str, Any]] = set()
        self.seen: set[Touch] = set()  # the touches of `always`
        self.grown = False  # whether a command that shared no cell may share one now
        self.kinds: dict[type, type] = {}

    def record(self, world: Any) -> bool:
        """Record the accesses to a fresh world from now on; return false if that is impossible."""
        kind: type = world.__class__
        if not is_plain(kind) or isinstance(getattr_static(kind, "__init_subclass__"), classmethod):
            return False
        space: dict[str, Any] = getattr(world, "__dict__", {})
        for name in space:
            if type(space[name]) is dict and getrefcount(space[name]) == ALONE:
                cells = Cells(space[name])
                cells.name, cells.touched = name, self.touched
                space[name] = cells
        try:
            if kind not in self.kinds:
                self.kinds[kind] = recording(kind, self.touched)
            object.__setattr__(world, "__class__", self.kinds[kind])
        except TypeError:
            return False
        return True

    def note(self, user: int, command: int) -> bool:
        """Note the touches of a step; return false if it is not known which cells it touched."""
        known = self.touches.get((user, command))
        if known is None or not self.touched <= known:
            held = self.touches.setdefault((user, command), set())
            self.use(user, held, self.touched - held, expected=known is None)
        return all(name for name, _, _ in self.touched)

    def see(self) -> bool:
        """Note the touches of `always`; return false if it is not known which cells it touched."""
        if not self.touched <= self.seen:
            self.seen |= self.touched
            for (user, _), known in self.touches.items():
                self.use(user, known, set(), expected=False)
        return all(name for name, _, _ in self.touched)

    def use(self, user: int, known: set[Touch], added: set[Touch], expected: bool) -> None:
        """Add touches to the known ones of a command."""
        known |= added
        if VISIBLE not in known and any(
            one[:2] == other[:2] and (one[2] or other[2]) for one in known for other in self.seen
        ):
            known.add(VISIBLE)
            added = {*added, VISIBLE}
        for name, key, writes in added:
            users = self.users.setdefault((name, key), {})
            users[user] = writes or users.get(user, False)
            if len(users) > 1 and any(users.values()):
                self.grown = self.grown or not expected or (name, key) not in self.shared
                self.shared.add((name, key))

    def apart(self, user: int, command: int) -> bool:
        """Return whether a command is known to share no cell."""
        known = self.touches.get((user, command))
        return known is not None and not any(one[:2] in self.shared for one in known)
