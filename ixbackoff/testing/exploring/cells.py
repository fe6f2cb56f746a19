"""The cells of a world, which are its attributes and the keys of its dicts, and their users.

Two commands that share no cell reach the same state in both orders. So a search leaves a program
only before a *shared* command: one that touches a cell which another program, a late command or a
change touches as well, if one of them may write it. Why that loses nothing:

1. Take a history that leaves program A before `a`, a command that is not shared. No event up to
   A's next turn touches a cell of `a`, so `a` can be moved before the turn: each program gets the
   same answers, the world ends the same, and no surprise is added. The handler cannot read more
   than it did: up to its first cell that is shared, it runs as before.
2. Repeated, that leads to a history that leaves programs only before shared commands. The search
   runs all of these, so it sees the cells of each command; if a cell is shared that was not before,
   the search begins again.
3. `always` sees the worlds in between: a command that writes a cell which it reads writes, as far
   as this argument goes, one further cell.

Where cells cannot be told apart all orders are tried: two names for one object, handlers that hold
more than the world, programs that ask for the time or have branches, and `state=`.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import getattr_static
from sys import getrefcount
from types import FunctionType
from typing import Any

from .states import is_plain, may_change

__tracebackhide__ = True

Touch = tuple[str, Any, str]
"""The attribute of a world, the key in its dict or `WHOLE`, and the manner of the access."""

Cell = tuple[str, Any]

WHOLE = object()

READ, WRITE, SCAN, ADD = "read", "write", "scan", "add"
"""A dict is scanned as a whole, and a key is added to it: adding two keys commutes."""

EVERYTHING: Touch = ("", WHOLE, WRITE)
VISIBLE: Touch = ("", "always", WRITE)

METHODS = (FunctionType, staticmethod, classmethod, property)

_one: dict[str, Any] = {"one": {}}
ALONE = getrefcount(_one["one"])
"""The number of references to an object that only one object holds."""


class Cells(dict[Any, Any]):
    """A dict in a world, which records the keys that handlers use."""

    __slots__ = ("name", "touched")

    def __init__(self, name: str, touched: set[Touch], items: dict[Any, Any]) -> None:
        dict.__init__(self, items)
        self.name = name
        self.touched = touched

    __class__: Any = property(lambda _: dict)

    def __reduce_ex__(self, _: Any) -> Any:
        return (dict, ({**self},))


def by_key(method: Callable[..., Any], manner: str) -> Callable[..., Any]:
    def touching(self: Cells, key: Any, *rest: Any) -> Any:
        add, name = self.touched.add, self.name
        add((name, key, manner))
        add((name, WHOLE, READ if manner is READ else ADD))
        value = method(self, key, *rest)
        if manner is READ and may_change(value):
            add((name, key, WRITE))
            add((name, WHOLE, ADD))
        return value

    return touching


def as_whole(method: Callable[..., Any], manner: str) -> Callable[..., Any]:
    def touching(self: Cells, *given: Any, **named: Any) -> Any:
        changes = manner is WRITE or any(map(may_change, dict.values(self)))
        self.touched.add((self.name, WHOLE, WRITE if changes else SCAN))
        return method(self, *given, **named)

    return touching


for _name in dir(dict):
    _method = getattr(dict, _name)
    if _name in ("__getitem__", "__contains__", "get"):
        setattr(Cells, _name, by_key(_method, READ))
    elif _name in ("__setitem__", "__delitem__", "pop", "setdefault"):
        setattr(Cells, _name, by_key(_method, WRITE))
    elif _name in ("clear", "popitem", "update", "__ior__"):
        setattr(Cells, _name, as_whole(_method, WRITE))
    elif _name not in dir(object) or _name in ("__eq__", "__ne__", "__repr__"):
        setattr(Cells, _name, as_whole(_method, SCAN))


class Recorder:
    """The cells that each command of each program touched, and the cells that are shared.

    Attributes:
        touched: the touches since it was last cleared.
        touches: the touches of each command, by its program and the hash of the command.
        shared: the cells that several users touch, where the order may matter.
        seen: the touches of `always`.
        grown: whether a cell has become shared, or a known command touches one unexpectedly.
    """

    def __init__(self) -> None:
        self.touched: set[Touch] = set()
        self.touches: dict[tuple[int, int], set[Touch]] = {}
        self.users: dict[Cell, dict[int, set[str]]] = {}
        self.shared: set[Cell] = set()
        self.seen: set[Touch] = set()
        self.grown = False
        self.kinds: dict[type, type] = {}

    def record(self, world: Any) -> bool:
        """Record the accesses to a fresh world from now on; return false if that is impossible."""
        kind: type = world.__class__
        if not is_plain(kind):
            return False
        space: dict[str, Any] = getattr(world, "__dict__", {})
        for name in space:
            if type(space[name]) is dict and getrefcount(space[name]) == ALONE:
                space[name] = Cells(name, self.touched, space[name])
        try:
            if kind not in self.kinds:
                self.kinds[kind] = recording(kind, self.touched)
            object.__setattr__(world, "__class__", self.kinds[kind])
        except TypeError:
            return False
        return True

    def note(self, user: int, command: int) -> bool:
        """Note the touches of an event; return false if its cells cannot be told apart."""
        known = self.touches.get((user, command))
        if known is None or not self.touched <= known:
            held = self.touches.setdefault((user, command), set())
            self.use(user, held, self.touched - held, expected=known is None)
        return EVERYTHING not in self.touched

    def see(self) -> None:
        """Note the touches of `always`."""
        if not self.touched <= self.seen:
            self.seen |= self.touched
            for (user, _), known in self.touches.items():
                self.use(user, known, set(), expected=False)

    def use(self, user: int, known: set[Touch], added: set[Touch], expected: bool) -> None:
        """Add touches to those of a command; a write that `always` may see has one cell more."""
        known |= added
        if VISIBLE not in known and any(
            conflict({one[2], other[2]})
            for one in known
            for other in self.seen
            if one[:2] == other[:2]
        ):
            known.add(VISIBLE)
            added = {*added, VISIBLE}
        for name, key, manner in added:
            users = self.users.setdefault((name, key), {})
            users.setdefault(user, set()).add(manner)
            if len(users) > 1 and conflict({one for some in users.values() for one in some}):
                self.grown = self.grown or not expected or (name, key) not in self.shared
                self.shared.add((name, key))

    def apart(self, user: int, command: int) -> bool:
        """Return whether a command shares no cell, as far as is known."""
        known = self.touches.get((user, command))
        return known is not None and not any(one[:2] in self.shared for one in known)


def conflict(manners: set[str]) -> bool:
    return WRITE in manners or {SCAN, ADD} <= manners


def recording(given: type, touched: set[Touch]) -> type:
    """Make a class of the same worlds that records the attributes that handlers use."""
    kind: Any = given
    methods = {name for name in dir(kind) if isinstance(getattr_static(kind, name), METHODS)}
    usual = {name for name in dir(kind) if name.startswith("__")} - {"__dict__"} | methods

    def get(self: object, name: str) -> Any:
        if name in usual:
            return kind.__getattribute__(self, name)
        touched.add(EVERYTHING if name == "__dict__" else (name, WHOLE, READ))
        value: Any = kind.__getattribute__(self, name)
        if (type(value) is not Cells or value.name != name) and may_change(value):
            touched.add((name, WHOLE, WRITE))
        return value

    def changing(name: str) -> Callable[..., Any]:
        def change(self: object, one: Any, *rest: Any) -> Any:
            whole = one in usual or name == "__reduce_ex__"
            touched.add(EVERYTHING if whole else (one, WHOLE, WRITE))
            return getattr(kind, name)(self, one, *rest)

        return change

    space: dict[str, Any] = {"__slots__": (), "__class__": property(lambda _: kind)}
    for name in ("__setattr__", "__delattr__", "__reduce_ex__"):
        space[name] = changing(name)
    made: type = kind.__class__(kind.__name__, (kind,), space | {"__getattribute__": get})
    return made
