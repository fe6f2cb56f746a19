"""Pipelines with classical mistakes and their mended forms, and models of their worlds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ixbackoff import Command, Do, Interpreter, attempt
from ixbackoff.testing.exploring import End, Persistent, may_break


@dataclass(frozen=True)
class Paid(Command[bool]):
    order: str


@dataclass(frozen=True)
class Charge(Command[str]):
    order: str
    key: str | None = None


@dataclass(frozen=True)
class Record(Command[None]):
    order: str
    receipt: str


@attempt
def pay(order: str, key: str | None = None) -> Do[Paid | Charge | Record, None]:
    """Charge an order and record that; without a key, it charges before it records."""
    if not (yield from Paid(order)):
        receipt = yield from Charge(order, key)
        yield from Record(order, receipt)


@dataclass
class Shop:
    charges: list[str] = field(default_factory=list)
    receipts: dict[str, str] = field(default_factory=dict)
    paid: dict[str, str] = field(default_factory=dict)

    def charge(self, command: Charge) -> str:
        if command.key in self.receipts:
            return self.receipts[command.key]
        self.charges.append(command.order)
        receipt = f"receipt {len(self.charges)}"
        if command.key is not None:
            self.receipts[command.key] = receipt
        return receipt

    def record(self, command: Record) -> None:
        self.paid[command.order] = command.receipt

    def interpreter(self) -> Interpreter[Paid | Charge | Record]:
        return (
            Paid.handled_by(lambda command: command.order in self.paid)
            | Charge.handled_by(self.charge)
            | Record.handled_by(self.record)
        )

    def charged_once(self) -> None:
        assert len(self.charges) <= 1, f"charged {len(self.charges)} times"


@dataclass(frozen=True)
class Delete(Command[None]):
    key: str


@dataclass(frozen=True)
class Put(Command[None]):
    key: str
    body: str


@attempt
def delete_and_put(key: str, body: str) -> Do[Delete | Put, None]:
    yield from Delete(key)
    yield from Put(key, body)


@dataclass
class Bucket:
    """An object store; where it is not whole, half an object can be seen while it is written."""

    objects: dict[str, str] = field(default_factory=lambda: {"page": "old"})
    whole: bool = True

    def delete(self, command: Delete) -> None:
        self.objects.pop(command.key, None)

    def put(self, command: Put) -> None:
        if not self.whole:
            self.objects[command.key] = command.body[:1]
            may_break()
        self.objects[command.key] = command.body

    def interpreter(self) -> Interpreter[Delete | Put]:
        return Delete.handled_by(self.delete) | Put.handled_by(self.put)

    def is_there(self) -> None:
        assert "page" in self.objects, "the page is gone"
        body = self.objects["page"]
        assert body in ("old", "new"), f"half an object is visible: {body!r}"


@dataclass(frozen=True)
class Create(Command[int]):
    name: str


@dataclass(frozen=True)
class Find(Command[int | None]):
    name: str


@attempt
def find_or_create(name: str) -> Do[Find | Create, int]:
    found = yield from Find(name)
    return found if found is not None else (yield from Create(name))


@dataclass
class Cloud:
    """Machines; where it is idempotent, a name is created once."""

    machines: list[str] = field(default_factory=list)
    idempotent: bool = False

    def create(self, command: Create) -> int:
        if not (self.idempotent and command.name in self.machines):
            self.machines.append(command.name)
        return self.machines.index(command.name)

    def find(self, command: Find) -> int | None:
        known = command.name in self.machines
        return self.machines.index(command.name) if known else None

    def interpreter(self) -> Interpreter[Create | Find]:
        return Create.handled_by(self.create) | Find.handled_by(self.find)

    def at_most_one(self) -> None:
        assert len(self.machines) <= 1, f"{len(self.machines)} machines"

    def one(self, ends: Sequence[End[int]]) -> None:
        self.at_most_one()
        assert self.machines or any(end.failure for end in ends), "well, but there is no machine"


@dataclass(frozen=True)
class Write(Command[None]):
    name: str
    text: str


@dataclass(frozen=True)
class Sync(Command[None]):
    """Make all that was written survive a power cut."""


@dataclass(frozen=True)
class Rename(Command[None]):
    name: str
    to: str


@attempt
def replace(name: str, text: str, syncs: bool) -> Do[Write | Sync | Rename, None]:
    """Replace a file by a rename."""
    yield from Write("part", text)
    if syncs:
        yield from Sync()
    yield from Rename("part", name)


@dataclass
class Machine:
    """A file system: names survive a power cut at once, but what files hold only once synced."""

    names: dict[str, str] = field(default_factory=lambda: {"page": "1"})
    files: Persistent[dict[str, str]] = field(default_factory=lambda: Persistent({"1": "old"}))

    def write(self, command: Write) -> None:
        self.names[command.name] = "2"
        self.files.written["2"] = command.text

    def rename(self, command: Rename) -> None:
        if command.name in self.names:
            self.names[command.to] = self.names.pop(command.name)

    def interpreter(self) -> Interpreter[Write | Sync | Rename]:
        return (
            Write.handled_by(self.write)
            | Sync.handled_by(lambda command: self.files.sync())
            | Rename.handled_by(self.rename)
        )

    def power_cut(self) -> None:
        self.files.lose()

    def holds_something(self) -> None:
        body = self.files.written.get(self.names["page"])
        assert body in ("old", "new"), f"the page holds {body!r}"
