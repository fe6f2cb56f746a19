"""A model that does not answer a program, and checks of another world, are errors before a search."""

from collections.abc import Sequence
from dataclasses import dataclass

import ixbackoff.testing.exploring as exploring
from ixbackoff import N2, Command, Interpreter, at


@dataclass(frozen=True)
class Paid(Command[bool]):
    order: str


@dataclass(frozen=True)
class Charge(Command[str]):
    order: str


class Shop:
    def interpreter(self) -> Interpreter[Charge]:
        return Charge.handled_by(lambda command: "receipt")

    def charged_once(self) -> None: ...

    def ended(self, ends: Sequence[exploring.End[str]]) -> None: ...


class Bucket:
    def interpreter(self) -> Interpreter[Paid]:
        return Paid.handled_by(lambda command: True)

    def whole(self) -> None: ...

    def ended(self, ends: Sequence[exploring.End[bool]]) -> None: ...


shop = exploring.Model(Shop, Shop.interpreter, always=Shop.charged_once)
bucket = exploring.Model(Bucket, Bucket.interpreter)

shop.explore(at(N2).retry(Paid("42")))  # E: [arg-type]
shop.explore(at(N2).do(Charge("42")))  # E: [arg-type]
shop.explore(at(N2).retry(Charge("42")), at_end=Bucket.ended)  # E: [arg-type]
shop.explore(at(N2).retry(Charge("42")), faults=exploring.fails())  # E: [arg-type]
shop.explore(at(N2).retry(Charge("42")), faults={str: exploring.ONCE})  # E: [dict-item]
shop.explore(at(N2).retry(Charge("42")), only=1)  # E: [arg-type]
shop.explore(at(N2).retry(Charge("42")), may_raise=int)  # E: [arg-type]
exploring.Model(Shop, Bucket.interpreter)  # E: [misc]
exploring.Model(Shop, Shop.interpreter, always=Bucket.whole)  # E: [misc]
exploring.Model(Shop, Shop.interpreter, changes=[Bucket.whole])  # E: [misc]
exploring.Model(Shop, Shop.interpreter, forgets=Bucket.whole)  # E: [misc]
exploring.dies("tomorrow")  # E: [arg-type]
exploring.fails(503)  # E: [arg-type]
