"""An upload in parts: a function says in its type where in the protocol it may stand."""

from dataclasses import dataclass
from typing import Never, assert_type, final

from burger import Chain, State

from ixbackoff import N3, Attempt, Command, Delay, Program, Z, at


@dataclass(frozen=True)
class Begin(Command[str]):
    key: str


@dataclass(frozen=True)
class Put(Command[None]):
    upload: str
    number: int
    data: bytes


@dataclass(frozen=True)
class Complete(Command[None]):
    upload: str


@final
class Nothing(State[Never]): ...


@final
class Begun(State[Nothing]): ...


@final
class Parts(State["Begun | Parts"]): ...


@final
class Completed(State[Parts]): ...


def put(upload: str, data: list[bytes]) -> Chain[Begun, Parts, None, Put]:
    parts = Begun.to(Parts)(Put(upload, 1, data[0]))
    for number, part in enumerate(data[1:], start=2):
        parts = parts >> Parts.to(Parts)(Put(upload, number, part))
    return parts


def uploaded(key: str, data: list[bytes]) -> Attempt[Begin | Put | Complete, None]:
    def rest(upload: str) -> Chain[Begun, Completed, None, Put | Complete]:
        return put(upload, data) >> Parts.to(Completed)(Complete(upload))

    begun = Nothing.to(Begun)(Begin(key))
    assert_type(begun.bind(rest), Chain[Nothing, Completed, None, Begin | Put | Complete])
    return begun.bind(rest).done(Nothing, Completed)


program: Program[N3, Z, None, Begin | Put | Complete | Delay] = at(N3).resume(uploaded("a", [b"b"]))
