"""Twelve pipelines, each wrong and right, over one small world of rows."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from ixbackoff import N0, N3, Command, Interpreter, NotReady, at, attempt
from ixbackoff.testing.exploring import ONCE, Explored, Model, dies, fails

Steps: TypeAlias = Generator["Op", Any, Any]


@dataclass(frozen=True)
class Op(Command[Any]):
    """An operation of `Rows`, by the name of its method."""

    word: str
    key: Any = ""
    value: Any = None
    old: Any = None


@dataclass(frozen=True)
class Work(Op):
    """The operation that may fail, where only one may."""


def op(word: str, key: Any = "", value: Any = None, old: Any = None) -> Steps:
    return (yield Op(word, key, value, old))


@dataclass
class Rows:
    """Rows by key, what was done, and a queue."""

    rows: dict[Any, Any] = field(default_factory=dict)
    done: list[Any] = field(default_factory=list)
    queue: list[int] = field(default_factory=lambda: [1, 2])
    taken: tuple[int, ...] = ()

    def read(self, it: Op) -> Any:
        return self.rows.get(it.key)

    def write(self, it: Op) -> None:
        self.rows[it.key] = it.value

    def delete(self, it: Op) -> None:
        self.rows.pop(it.key, None)

    def swap(self, it: Op) -> bool:
        """Write if the old value still stands."""
        if self.rows.get(it.key) != it.old:
            return False
        self.rows[it.key] = it.value
        return True

    def do(self, it: Op) -> None:
        self.done.append(it.key)

    def do_once(self, it: Op) -> None:
        """Do it, but for each idempotency key once."""
        if not self.rows.get(("key", it.value)):
            self.rows["key", it.value] = True
            self.done.append(it.key)

    def both(self, it: Op) -> None:
        """Write all rows of a mapping in one transaction, once."""
        if it.key not in self.rows:
            self.rows |= {it.key: True, **dict(it.value)}

    def lease(self, it: Op) -> int:
        if self.rows.get("holder") not in (None, it.key):
            raise NotReady("the lease is held")
        self.rows |= {"holder": it.key, "token": self.rows.get("token", 0) + 1}
        return int(self.rows["token"])

    def runs_out(self) -> None:
        self.rows["holder"] = None

    def fenced(self, it: Op) -> None:
        if it.value >= max([0, *self.done]):
            self.done.append(it.value)

    def unfenced(self, it: Op) -> None:
        self.done.append(it.value)

    def take(self, _: Op) -> int | None:
        if not self.queue:
            return None
        self.taken = (self.queue.pop(0),)
        return self.taken[0]

    def acknowledge(self, _: Op) -> None:
        self.taken = ()

    def put_back(self) -> None:
        """The consumer died: what it had taken comes again, at the end."""
        self.queue += self.taken
        self.taken = ()

    def handle(self, it: Op) -> None:
        """Do what is not among the last `it.value` messages."""
        window = self.rows.get("window", ())
        if it.key not in window:
            self.done.append(it.key)
            self.rows["window"] = (*window, it.key)[-it.value :]

    def interpreter(self) -> Interpreter[Op]:
        return Op.handled_by(lambda it: getattr(self, it.word)(it))


Effect: TypeAlias = Callable[[bool, str], Any]
"""Make the effect of the program of this name, right or wrong."""


class Pair(NamedTuple):
    """A pipeline in two forms: its programs, its rule at the end, and what may happen."""

    effect: Effect
    rule: Callable[[Rows], object]
    names: str = "A"
    faults: Any = ONCE
    again: bool = False
    model: dict[str, Any] = {}  # noqa: RUF012
    tried: bool = True

    def explore(self, right: bool, surprises: int = 3, merge: bool = True) -> Explored:
        effects = [self.effect(right, name) for name in self.names]
        programs = [at(N3).retry(one) if self.tried else at(N0).do(one).end() for one in effects]

        def at_end(world: Rows, _: Sequence[Any]) -> None:
            assert self.rule(world), f"{world.rows} {world.done}"

        model = Model(Rows, Rows.interpreter, **self.model)
        how: dict[str, Any] = {"faults": self.faults, "again": self.again, "merge": merge}
        return model.explore(*programs, at_end=at_end, surprises=surprises, **how)


@attempt
def count(right: bool, _: str) -> Steps:
    before = yield from op("read", "x")
    value = (before or 0) + 1
    if not right:
        yield from op("write", "x", value)
    elif not (yield from op("swap", "x", value, before)):
        raise NotReady("somebody was faster")


@attempt
def charge(right: bool, _: str) -> Steps:
    if not (yield from op("read", "paid")):
        yield from op("do_once", "charge", "order 1") if right else op("do", "charge")
        yield from op("write", "paid", True)


EMPTIED = ("emptied", 1)
"""The mark, with its number, that an emptied cache has in place of nothing."""


@attempt
def cache(right: bool, name: str) -> Steps:
    """A fills a cache while B changes the row and empties the cache."""
    if name == "B":
        yield from op("write", "row", "new")
        yield from op("write", "cache", EMPTIED if right else None)
        return
    before = yield from op("read", "cache")
    value = (yield from op("read", "row")) or "old"
    yield from op("swap", "cache", value, before) if right else op("write", "cache", value)


@attempt
def lock(right: bool, name: str) -> Steps:
    if not (yield from op("swap", "lock", name)):
        raise NotReady("it is locked")
    try:
        yield Work("do", "work")
    except Exception:
        if right:
            yield from op("delete", "lock")
        raise
    yield from op("delete", "lock")


@attempt
def lease(right: bool, name: str) -> Steps:
    token = yield from op("lease", name)
    yield from op("fenced" if right else "unfenced", name, token)


@attempt
def outbox(right: bool, _: str) -> Steps:
    if right:
        yield from op("both", "order", (("outbox", True),))
    elif not (yield from op("read", "order")):
        yield from op("write", "order", True)
        yield from op("do_once", "event", 1)
    if right and (yield from op("read", "outbox")):
        yield from op("do_once", "event", 1)
        yield from op("delete", "outbox")


@attempt
def saga(right: bool, _: str) -> Steps:
    yield from op("write", "seat", True)
    try:
        yield Work("write", "paid", True)
    except ValueError:
        if right:
            yield from op("delete", "seat")
        raise


@attempt
def two_orders(right: bool, _: str) -> Steps:
    for order in (1, 2):
        yield from op("do_once", order, ("customer", order if right else 0))


@attempt
def consume(right: bool, _: str) -> Steps:
    while (message := (yield from op("take"))) is not None:
        yield from op("handle", message, 2 if right else 1)
        yield from op("acknowledge")


@attempt
def create(right: bool, name: str) -> Steps:
    if right:
        if (yield from op("swap", "vm", name)):
            yield from op("do", "create")
    elif (yield from op("read", "vm")) is None:
        yield from op("do", "create")
        yield from op("write", "vm", name)


@attempt
def acknowledge(right: bool, _: str) -> Steps:
    while (message := (yield from op("take"))) is not None:
        if right:
            yield from op("do_once", message, message)
        yield from op("acknowledge")
        if not right:
            yield from op("do_once", message, message)


@attempt
def transfer(right: bool, _: str) -> Steps:
    if right:
        yield from op("both", "transfer 1", (("from", 0), ("to", 1)))
    elif not (yield from op("read", "transfer 1")):
        yield from op("write", "transfer 1", True)
        yield from op("write", "from", 0)
        yield from op("write", "to", 1)


def once(what: object) -> Callable[[Rows], bool]:
    return lambda world: world.done.count(what) == 1


def no_more(what: object) -> Callable[[Rows], bool]:
    return lambda world: world.done.count(what) <= 1


redelivered: dict[str, Any] = {"forgets": Rows.put_back}

PAIRS: dict[str, Pair] = {
    "lost update": Pair(count, lambda it: it.rows["x"] == 2, "AB", ()),
    "double charge": Pair(charge, no_more("charge")),
    "stale read": Pair(
        cache, lambda it: it.rows["cache"] in (None, "new", EMPTIED), "AB", (), tried=False
    ),
    "lock not released": Pair(
        lock, lambda it: "lock" not in it.rows, "AB", {Work: [fails(ValueError())], Op: []}
    ),
    "lease without fencing": Pair(
        lease,
        lambda it: it.done == sorted(it.done),
        "AB",
        (),
        model={"changes": [Rows.runs_out]},
    ),
    "event after commit": Pair(outbox, once("event"), again=True),
    "saga without compensation": Pair(
        saga,
        lambda it: it.rows.get("paid") or "seat" not in it.rows,
        faults={Work: [fails(ValueError())], Op: dies()},
    ),
    "reused key": Pair(two_orders, lambda it: it.done == [1, 2]),
    "window too small": Pair(
        consume, lambda it: sorted(it.done) == [1, 2], faults=dies(), model=redelivered
    ),
    "look, then create": Pair(create, no_more("create"), "AB", ()),
    "acknowledged first": Pair(
        acknowledge, lambda it: {*it.done} == {1, 2}, faults=dies(), model=redelivered
    ),
    "transfer in steps": Pair(
        transfer,
        lambda it: it.rows.get("from", 1) + it.rows.get("to", 0) == 1,
        faults=dies(),
        again=True,
    ),
}
