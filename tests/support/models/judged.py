"""Small pipelines in models of their worlds, in pairs: one is wrong, and one is right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ixbackoff import Command, Do, Interpreter, NotReady, all_of, attempt
from ixbackoff.testing.exploring import End

# A counter that two processes count up: each reads it, and writes what it read and one more.


@dataclass(frozen=True)
class Read(Command[tuple[int, int]]):
    """Read the counter, and the number of its version."""


@dataclass(frozen=True)
class Write(Command[None]):
    number: int


@dataclass(frozen=True)
class Swap(Command[bool]):
    """Write, if the version is still the same."""

    number: int
    version: int


Counting: TypeAlias = Read | Write | Swap


@attempt
def count_blindly() -> Do[Counting, None]:
    number, _ = yield from Read()
    yield from Write(number + 1)


@attempt
def count_by_swapping() -> Do[Counting, None]:
    number, version = yield from Read()
    if not (yield from Swap(number + 1, version)):
        raise NotReady("another one was faster")


@dataclass
class Counter:
    number: int = 0
    version: int = 0

    def write(self, command: Write) -> None:
        self.number = command.number
        self.version += 1

    def swap(self, command: Swap) -> bool:
        if command.version != self.version:
            return False
        self.write(Write(command.number))
        return True

    def interpreter(self) -> Interpreter[Counting]:
        return (
            Read.handled_by(lambda command: (self.number, self.version))
            | Write.handled_by(self.write)
            | Swap.handled_by(self.swap)
        )

    def counts_all(self, ends: Sequence[End[Any]]) -> None:
        well = sum(end.failure is None for end in ends)
        assert self.number >= well, f"{well} have counted, and it is {self.number}"


# A message that is taken from a queue and worked on.


@dataclass(frozen=True)
class Take(Command[str | None]):
    """Look at the next message; it stays in the queue."""


@dataclass(frozen=True)
class Acknowledge(Command[None]):
    message: str


@dataclass(frozen=True)
class Work(Command[None]):
    message: str
    by_name: bool


Queueing: TypeAlias = Take | Acknowledge | Work


@attempt
def acknowledge_first() -> Do[Queueing, None]:
    message = yield from Take()
    if message is not None:
        yield from Acknowledge(message)
        yield from Work(message, by_name=True)


@attempt
def work_first(by_name: bool) -> Do[Queueing, None]:
    message = yield from Take()
    if message is not None:
        yield from Work(message, by_name)
        yield from Acknowledge(message)


@dataclass
class Queue:
    messages: list[str] = field(default_factory=lambda: ["m"])
    done: list[str] = field(default_factory=list)

    def acknowledge(self, command: Acknowledge) -> None:
        if command.message in self.messages:
            self.messages.remove(command.message)

    def work(self, command: Work) -> None:
        if not (command.by_name and command.message in self.done):
            self.done.append(command.message)

    def interpreter(self) -> Interpreter[Queueing]:
        return (
            Take.handled_by(lambda command: self.messages[0] if self.messages else None)
            | Acknowledge.handled_by(self.acknowledge)
            | Work.handled_by(self.work)
        )

    def done_once(self, _: Sequence[End[Any]]) -> None:
        assert self.done == ["m"], f"done: {self.done}"


# Money that goes from one account to another.


@dataclass(frozen=True)
class Withdraw(Command[None]):
    number: int


@dataclass(frozen=True)
class Deposit(Command[None]):
    number: int


@dataclass(frozen=True)
class Transfer(Command[None]):
    """Do both at once, unless this transfer was done already."""

    number: int


Paying: TypeAlias = Withdraw | Deposit | Transfer


@attempt
def transfer_in_two() -> Do[Paying, None]:
    yield from Withdraw(1)
    yield from Deposit(1)


@dataclass
class Bank:
    """A bank that knows the number of each request that it has done."""

    accounts: dict[str, int] = field(default_factory=lambda: {"a": 1, "b": 0})
    done: set[str] = field(default_factory=set)

    def move(self, what: str, **amounts: int) -> None:
        if what not in self.done:
            self.done.add(what)
            for account, amount in amounts.items():
                self.accounts[account] += amount

    def interpreter(self) -> Interpreter[Paying]:
        return (
            Withdraw.handled_by(lambda command: self.move(f"from {command.number}", a=-1))
            | Deposit.handled_by(lambda command: self.move(f"to {command.number}", b=1))
            | Transfer.handled_by(lambda command: self.move(f"{command.number}", a=-1, b=1))
        )

    def nothing_is_lost(self, _: Sequence[End[Any]]) -> None:
        assert sum(self.accounts.values()) == 1, f"there is {sum(self.accounts.values())} left"


# The last seat, which two branches want.


@dataclass(frozen=True)
class Free(Command[bool]):
    pass


@dataclass(frozen=True)
class Seat(Command[bool]):
    """Take a seat; asked to, only if one is free."""

    name: str
    checks: bool


@attempt
def look_and_sit(name: str) -> Do[Free | Seat, bool]:
    return (yield from Free()) and (yield from Seat(name, checks=False))


@attempt
def seats(careful: bool) -> Do[Any, Any]:
    if careful:
        return (yield from all_of(Seat("a", checks=True), Seat("b", checks=True)))
    return (yield from all_of(look_and_sit("a"), look_and_sit("b")))


@dataclass
class Hall:
    seated: list[str] = field(default_factory=list)

    def sit(self, command: Seat) -> bool:
        if command.name in self.seated:
            return True
        if command.checks and self.seated:
            return False
        self.seated.append(command.name)
        return True

    def interpreter(self) -> Interpreter[Free | Seat]:
        return Free.handled_by(lambda command: not self.seated) | Seat.handled_by(self.sit)

    def one_seat(self) -> None:
        assert len(self.seated) <= 1, f"seated: {self.seated}"


# A lease with an end: whoever holds it writes, and a late write comes from a former holder.


@dataclass(frozen=True)
class Lease(Command[int]):
    """Take the lease, even from another holder; the answer is its number."""


@dataclass(frozen=True)
class Store(Command[None]):
    text: str
    lease: int | None


@attempt
def store(text: str, fenced: bool) -> Do[Lease | Store, None]:
    lease = yield from Lease()
    yield from Store(text, lease if fenced else None)


@dataclass
class Leased:
    lease: int = 0
    newest: int = 0
    written: int = 0

    def take(self, _: Lease) -> int:
        self.lease += 1
        return self.lease

    def store(self, command: Store) -> None:
        if command.lease is not None and command.lease < self.newest:
            raise KeyError("an old lease")
        number = int(command.text) if command.lease is None else command.lease
        self.written, self.newest = number, max(self.newest, number)

    def interpreter(self) -> Interpreter[Lease | Store]:
        return Lease.handled_by(self.take) | Store.handled_by(self.store)

    def newest_stays(self) -> None:
        assert self.written == self.newest, f"{self.newest} was overwritten by {self.written}"
