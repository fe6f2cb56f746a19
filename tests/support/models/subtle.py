"""Small pipelines that look right, in pairs: one has a mistake, which few surprises show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ixbackoff import Command, Do, Interpreter, NotReady, Now, all_of, attempt, do
from ixbackoff.testing.exploring import End

# Seats are sold while there are some; the number is read once, or twice.


@dataclass(frozen=True)
class Left(Command[int]):
    """Read how many seats are left."""


@dataclass(frozen=True)
class Sell(Command[bool]):
    """Write how many are left, if there are as many as was read."""

    buyer: str
    left: int
    read: int


@attempt
def sell(buyer: str, twice: bool) -> Do[Left | Sell, bool]:
    read = yield from Left()
    if read < 1:
        return False
    again = (yield from Left()) if twice else read
    if not (yield from Sell(buyer, read - 1, again)):
        raise NotReady("another one was faster")
    return True


@dataclass
class Seats:
    left: int = 1
    seats: int = 1
    sold: list[str] = field(default_factory=list)

    def sell(self, command: Sell) -> bool:
        if command.buyer in self.sold:
            return True
        if command.read != self.left:
            return False
        self.left = command.left
        self.sold.append(command.buyer)
        return True

    def interpreter(self) -> Interpreter[Left | Sell]:
        return Left.handled_by(lambda command: self.left) | Sell.handled_by(self.sell)

    def some_are_added(self) -> None:
        self.left += 1
        self.seats += 1

    def adds_up(self) -> None:
        known = self.left + len(self.sold)
        assert known == self.seats, f"there are {self.seats}, and {known} are sold or left"


# An order is charged within a limit of time, and tried again if that has passed.


@dataclass(frozen=True)
class Charge(Command[None]):
    key: str | None


@attempt
def charge(key: str | None) -> Do[Charge | Now, None]:
    yield from do(Charge(key)).limit(5)


@dataclass
class Card:
    charges: list[str | None] = field(default_factory=list)

    def charge(self, command: Charge) -> None:
        if command.key is None or command.key not in self.charges:
            self.charges.append(command.key)

    def interpreter(self) -> Interpreter[Charge]:
        return Charge.handled_by(self.charge)

    def charged_once(self) -> None:
        assert len(self.charges) <= 1, f"charged {len(self.charges)} times"

    def one_charge_is_repeated(self) -> None:
        assert len(self.charges) <= 3, f"charged {len(self.charges)} times"


# Two cards are charged at the same time, durably: a death may repeat both charges.


@attempt
def charge_both(keys: bool) -> Do[Charge, None]:
    yield from all_of(*[Charge(key if keys else None) for key in ("one", "other")])


# A room is reserved and then paid for; the deadline may pass in between.


@dataclass(frozen=True)
class Reserve(Command[None]):
    pass


@dataclass(frozen=True)
class Pay(Command[None]):
    pass


@dataclass(frozen=True)
class Release(Command[None]):
    pass


Booking: TypeAlias = Reserve | Pay | Release


@attempt
def book(releases: bool) -> Do[Booking, None]:
    """Reserve and pay; what cleans up has its own time."""
    paid = False
    try:
        yield from Reserve()
        yield from Pay()
        paid = True
    finally:
        if releases and not paid:
            yield from Release()


@dataclass
class Hotel:
    reserved: bool = False
    paid: bool = False

    def reserve(self, _: Reserve) -> None:
        self.reserved = True

    def pay(self, _: Pay) -> None:
        self.paid = True

    def release(self, _: Release) -> None:
        self.reserved = self.paid

    def interpreter(self) -> Interpreter[Booking]:
        return (
            Reserve.handled_by(self.reserve)
            | Pay.handled_by(self.pay)
            | Release.handled_by(self.release)
        )

    def nothing_is_left_reserved(self, _: Sequence[End[Any]]) -> None:
        assert self.paid or not self.reserved, "reserved, and nobody pays"


# A page is made, or what was begun is removed: also if another one has made it.


@dataclass(frozen=True)
class Make(Command[None]):
    owner: str


@dataclass(frozen=True)
class Remove(Command[None]):
    """Remove the page; asked to, only if it is one's own."""

    owner: str
    own: bool


@attempt
def make(owner: str, own: bool) -> Do[Make | Remove, None]:
    yield from do(Make(owner)).or_else(Remove(owner, own), on=Exception)


@dataclass
class Pages:
    owner: str = ""
    wrong: bool = False

    def make(self, command: Make) -> None:
        if self.owner not in ("", command.owner):
            raise FileExistsError(self.owner)
        self.owner = command.owner

    def remove(self, command: Remove) -> None:
        theirs = self.owner not in ("", command.owner)
        if not (command.own and theirs):
            self.wrong |= theirs
            self.owner = ""

    def interpreter(self) -> Interpreter[Make | Remove]:
        return Make.handled_by(self.make) | Remove.handled_by(self.remove)

    def only_its_owner_removes(self) -> None:
        assert not self.wrong, "the page of another one is gone"


# A lease runs out, and another one takes it, while its holder still writes.


@dataclass(frozen=True)
class Lease(Command[int]):
    holder: str


@dataclass(frozen=True)
class Holds(Command[bool]):
    holder: str


@dataclass(frozen=True)
class Write(Command[None]):
    holder: str
    fence: int | None


Leasing: TypeAlias = Lease | Holds | Write


@attempt
def write(holder: str, fenced: bool) -> Do[Leasing, None]:
    number = yield from Lease(holder)
    if not (yield from Holds(holder)):
        raise NotReady("the lease ran out")
    yield from Write(holder, number if fenced else None)


@dataclass
class Leases:
    holder: str = ""
    number: int = 0
    writer: str = ""
    wrong: bool = False

    def lease(self, command: Lease) -> int:
        if self.holder not in ("", command.holder):
            raise NotReady("leased")
        self.holder = command.holder
        self.number += 1
        return self.number

    def write(self, command: Write) -> None:
        if command.fence is not None and command.fence != self.number:
            raise NotReady("an old lease")
        self.wrong |= self.holder not in ("", command.holder)

    def interpreter(self) -> Interpreter[Leasing]:
        return (
            Lease.handled_by(self.lease)
            | Holds.handled_by(lambda command: command.holder == self.holder)
            | Write.handled_by(self.write)
        )

    def it_runs_out(self) -> None:
        self.holder = ""

    def only_the_holder_writes(self) -> None:
        assert not self.wrong, "written by one whose lease had run out"
