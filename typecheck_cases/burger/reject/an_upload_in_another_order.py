"""An upload that is completed without parts, goes on when it is done, or never begins."""

from dataclasses import dataclass
from typing import Never, final

from burger import Chain, State

from ixbackoff import N3, Attempt, Command, at


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


begin = Nothing.to(Begun)(Begin("key"))
first = Begun.to(Parts)(Put("upload", 1, b"one"))
second = Parts.to(Parts)(Put("upload", 2, b"two"))
complete = Parts.to(Completed)(Complete("upload"))

begin >> complete  # E: [operator]
begin >> second  # E: [operator]
first >> first  # E: [operator]
begin >> first >> complete >> second  # E: [operator]
begin >> first >> complete >> complete  # E: [operator]
Begun.to(Completed)(Complete("upload"))  # E: [arg-type]
Completed.to(Parts)  # E: [arg-type]
(first >> complete).done(Nothing, Completed)  # E: [arg-type]
(begin >> first).done(Nothing, Completed)  # E: [arg-type]
begin.bind(lambda upload: Parts.to(Completed)(Complete(upload)))  # E: [arg-type] [return-value]
at(N3).resume(begin >> first)  # E: [arg-type]


def put(upload: str) -> Chain[Begun, Parts, None, Put]:
    return Parts.to(Parts)(Put(upload, 1, b"one"))  # E: [return-value]


def empty(upload: str) -> Chain[Begun, Completed, None, Complete]:
    return complete  # E: [return-value]


quiet: Attempt[Begin | Put, None] = (begin >> first >> complete).done(Nothing, Completed)  # E: [assignment]
