"""A wrong argument, a missing handler and an open program are errors before anything is stored."""

from dataclasses import dataclass

from ixbackoff import N0, N2, N3, Command, Delay, Interpreter, Log, Program, Z, at
from ixbackoff import durable


@dataclass(frozen=True)
class GetETag(Command[str]):
    url: str


@durable.durable(name="tag")
def tag(url: str, *, times: int = 1) -> Program[N3, Z, str, GetETag | Delay]:
    return at(N3).retry(GetETag(url))


@durable.durable(name="quiet")
def quiet() -> Program[N0, Z, None, Log]:
    return at(N0).do(Log("hello"))


@durable.durable(name="open")  # E: [arg-type]
def still_open() -> Program[N3, N2, None, Log | Delay]:
    return at(N3).do(Log("hello")).wait()


@durable.durable(name="number")  # E: [arg-type]
def number() -> int:
    return 3


def begin(standard: Interpreter[Delay | Log]) -> None:
    engine = durable.Engine(standard | GetETag.handled_by(lambda command: command.url), tag, quiet)
    engine.start(tag, 7)  # E: [arg-type]
    engine.start(tag)  # E: [call-arg]
    engine.start(tag, "http://localhost", often=2)  # E: [call-arg]
    wrong: int = engine.start(tag, "http://localhost").result()  # E: [assignment]
    engine.start_many(tag, {"a": 1})  # E: [arg-type]
    durable.Engine(standard, tag)  # E: [misc]
    without = durable.Engine(standard, quiet)
    without.start(tag, "http://localhost")  # E: [arg-type]
    at(N2).do(Log("first")) >> tag("http://localhost")  # E: [operator]
    lower: Program[N2, N0, str, GetETag | Delay] = tag("http://localhost")  # E: [assignment]
