"""A model answers the commands of the programs that are explored in it; its checks take its world."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import assert_type

import ixbackoff.testing.exploring as exploring
from ixbackoff import N2, N3, Command, Do, Interpreter, NotReady, Upload, at, attempt


@dataclass(frozen=True)
class Paid(Command[bool]):
    order: str


@dataclass(frozen=True)
class Charge(Command[str]):
    order: str


@attempt
def pay(order: str) -> Do[Paid | Charge, str]:
    if (yield from Paid(order)):
        return "paid"
    return (yield from Charge(order))


@dataclass
class Shop:
    charges: list[str] = field(default_factory=list)

    def charge(self, command: Charge) -> str:
        self.charges.append(command.order)
        exploring.may_break()
        return "receipt"

    def interpreter(self) -> Interpreter[Paid | Charge]:
        return Paid.handled_by(lambda command: command.order in self.charges) | Charge.handled_by(self.charge)

    def charged_once(self) -> None:
        assert len(self.charges) <= 1

    def somebody_pays(self) -> None:
        self.charges.append("another")

    def ended(self, ends: Sequence[exploring.End[str]]) -> None:
        assert all(end.value != "" for end in ends)


shop = exploring.Model(Shop, Shop.interpreter, always=Shop.charged_once, changes=[Shop.somebody_pays])
paying = at(N2).retry(pay("42"))

found = shop.explore(paying, at_end=Shop.ended, surprises=3, again=True, most=2)
assert_type(found, exploring.Explored)
assert_type(found.histories, int)

# A program may issue fewer commands than are answered, and several run beside each other.
shop.explore(at(N3).retry(Charge("42")), paying, within=60, may_raise=[NotReady, OSError])

# Faults of all commands, or by kind.
shop.explore(paying, faults=(exploring.fails(), exploring.lost(TimeoutError(), after=3), *exploring.dies("durably")))
shop.explore(paying, faults={Charge: [exploring.late(), exploring.slow(3)], Command: exploring.ONCE})
uploads: dict[type[Command[None]], list[exploring.Surprise]] = {Upload: [exploring.asks(30)]}
shop.explore(paying, faults=uploads)

# One history, and those that hypothesis draws.
shop.explore(paying, only="1 is done, but answers ServerError")
shop.explore(paying, only=exploring.Drawn([(1, 2)]))
drawn = exploring.histories(surprises=4).example()
assert_type(drawn, exploring.Drawn)

# A world of two layers.
disk = exploring.Persistent({"page": "old"})
assert_type(disk.written, dict[str, str])


def paid(disk: exploring.Persistent[dict[str, str]]) -> Interpreter[Paid]:
    return Paid.handled_by(lambda command: command.order in disk.synced)


synced = exploring.Model(lambda: exploring.Persistent({"41": "paid"}), paid, forgets=lambda disk: disk.lose())
synced.explore(at(N2).retry(Paid("42")))
