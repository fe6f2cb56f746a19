"""`retry_with` takes a function from a number to a command or an attempt."""

from ixbackoff import N3, Command, Delay, Interpreter, Log, at, do


class GetETag(Command[str]):
    __slots__ = ()


def of_a_word(word: str) -> GetETag:
    return GetETag()


def of_nothing() -> GetETag:
    return GetETag()


at(N3).retry_with(GetETag())  # E: [arg-type]
at(N3).retry_with(of_a_word)  # E: [arg-type]
at(N3).retry_with(of_nothing)  # E: [arg-type]
at(N3).retry_with(lambda rung: at(N3).retry(GetETag()))  # E: [arg-type] [return-value]
at(N3).retry_with(lambda rung: rung)  # E: [arg-type] [return-value]
at(N3).retry_with(lambda rung: GetETag()).backoff()  # E: [call-arg]
at(N3).retry_with(lambda rung: GetETag()).retry_with(lambda rung: GetETag(), on=3)  # E: [arg-type]


def run(interpreter: Interpreter[GetETag | Delay]) -> None:
    at(N3).retry_with(lambda rung: do(Log(str(rung)))).run(interpreter)  # E: [arg-type]


do(GetETag()).expect(5)  # E: [arg-type]
do(GetETag()).expect(lambda etag, other: True)  # E: [arg-type] [misc]
do(GetETag()).expect(len)  # E: [arg-type]
