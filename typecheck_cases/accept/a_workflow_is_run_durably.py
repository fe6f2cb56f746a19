"""A workflow keeps the parameters and the value of its program; an engine answers its commands."""

from dataclasses import dataclass
from typing import assert_type

from ixbackoff import N0, N3, AsyncInterpreter, Call, Command, Delay, Interpreter, Log, Program, Z, at, call
from ixbackoff import durable


@dataclass(frozen=True)
class GetETag(Command[str]):
    url: str


@durable.durable(name="tag")
def tag(url: str, *, times: int = 1) -> Program[N3, Z, str, GetETag | Delay]:
    return at(N3).retry(GetETag(url))


@durable.durable()
def quiet() -> Program[N0, Z, None, Log]:
    return at(N0).do(Log("hello"))


@durable.durable(name="add", within=60)
def add(number: int) -> Program[N0, Z, int, Call[int]]:
    return at(N0).do(call(int.__add__, number, 1))


def begin(standard: Interpreter[Delay | Log | Call[int]]) -> None:
    tags = standard | GetETag.handled_by(lambda command: command.url)
    engine = durable.Engine(tags, tag, quiet, add, database="sqlite:///runs.sqlite")
    run = engine.start(tag, "http://localhost", times=2)
    assert_type(run, durable.WorkflowHandle[str])
    assert_type(run.result(), str)
    assert_type(engine.start_with_id("one", quiet).result(), None)
    assert_type(engine.start_many(add, {"a": 1, "b": 2}), list[durable.WorkflowHandle[int]])
    assert_type(tag("http://localhost").run(tags), str)
    assert_type(tag("http://localhost"), Program[N3, N0, str, GetETag | Delay])
    (at(N3).do(Log("first")) >> tag("http://localhost")).run(tags)


async def begin_async(standard: AsyncInterpreter[Delay | Log]) -> None:
    engine = durable.Engine(standard | GetETag.handled_by(lambda command: command.url), tag, quiet)
    assert_type(await engine.start(tag, "http://localhost").result_async(), str)


def key() -> str | None:
    current = durable.current_command()
    return None if current is None else current.idempotency_key
