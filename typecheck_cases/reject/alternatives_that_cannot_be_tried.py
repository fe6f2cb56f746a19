"""What is tried at once, or in turn, is commands and attempts, each of which needs its handler."""

from ixbackoff import N0, N3, Command, Delay, First, Interpreter, Log, Pick, all_of, at, do, first_of


class GetETag(Command[str]):
    __slots__ = ()


inner = at(N3).retry(GetETag())

first_of([inner])  # E: [arg-type]
all_of([inner])  # E: [arg-type]
first_of([1, 2])  # E: [arg-type]
all_of(["a", "b"])  # E: [arg-type]
first_of(5)  # E: [arg-type]
all_of(5)  # E: [arg-type]
first_of([GetETag()], start="a")  # E: [arg-type]
first_of([GetETag()], on=3)  # E: [arg-type]


def run(clockless: Interpreter[GetETag | Delay], lucky: Interpreter[GetETag | Pick]) -> None:
    at(N0).do(first_of([GetETag()])).run(clockless)  # E: [arg-type]
    at(N3).retry(first_of([GetETag()])).run(lucky)  # E: [arg-type]
    at(N0).do(all_of([do(Log("a"))])).run(clockless)  # E: [arg-type]
    tags: list[int] = at(N0).do(all_of([GetETag()])).run(lucky)  # E: [assignment]
    won: First[int] = at(N0).do(first_of([GetETag()])).run(lucky)  # E: [assignment]
