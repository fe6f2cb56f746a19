"""A store, in which each key is a cell of its own."""

from __future__ import annotations

from dataclasses import dataclass, field

from ixbackoff import Command, Interpreter


@dataclass(frozen=True)
class Put(Command[None]):
    key: str


@dataclass
class Store:
    there: dict[str, int] = field(default_factory=dict)

    def put(self, command: Put) -> None:
        self.there[command.key] = 1

    def interpreter(self) -> Interpreter[Put]:
        return Put.handled_by(self.put)
