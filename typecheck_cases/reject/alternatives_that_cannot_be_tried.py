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
all_of(5)  # E: [call-overload]
all_of(GetETag(), inner)  # E: [call-overload]
all_of(GetETag(), [GetETag()])  # E: [call-overload]
all_of(GetETag(), "a")  # E: [call-overload]
all_of(GetETag)  # E: [call-overload]
all_of()  # E: [call-overload]
first_of([GetETag()], start="a")  # E: [arg-type]
first_of([GetETag()], on=3)  # E: [arg-type]


def run(clockless: Interpreter[GetETag | Delay], lucky: Interpreter[GetETag | Pick]) -> None:
    at(N0).do(first_of([GetETag()])).run(clockless)  # E: [arg-type]
    at(N3).retry(first_of([GetETag()])).run(lucky)  # E: [arg-type]
    at(N0).do(all_of([do(Log("a"))])).run(clockless)  # E: [arg-type]
    at(N0).do(all_of(GetETag(), Log("a"))).run(clockless)  # E: [arg-type]
    at(N3).retry(all_of(GetETag(), do(GetETag()), Log("a"))).run(clockless)  # E: [arg-type]
    at(N0).do(all_of([GetETag(), Log("a")])).run(clockless)  # E: [arg-type]
    pair: tuple[str, int] = at(N0).do(all_of(GetETag(), GetETag())).run(lucky)  # E: [assignment]
    three: tuple[str, str, str] = at(N0).do(all_of(GetETag(), GetETag())).run(lucky)  # E: [assignment]
    as_list: list[str] = at(N0).do(all_of(GetETag(), GetETag())).run(lucky)  # E: [assignment]
    as_tuple: tuple[str] = at(N0).do(all_of([GetETag()])).run(lucky)  # E: [assignment]
    alone: list[str] = at(N0).do(all_of(GetETag())).run(lucky)  # E: [assignment]
    tags: list[int] = at(N0).do(all_of([GetETag()])).run(lucky)  # E: [assignment]
    won: First[int] = at(N0).do(first_of([GetETag()])).run(lucky)  # E: [assignment]
