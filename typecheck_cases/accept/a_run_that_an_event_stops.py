"""`stop` is an event of threading, for runs that block a thread; `within` may be a timedelta."""

from datetime import timedelta
from threading import Event
from typing import assert_type

from ixbackoff import N3, Command, Delay, Interpreter, Now, at, backoff, do, unroll


class GetETag(Command[str]):
    __slots__ = ()


program = at(N3).retry(GetETag())
minute = timedelta(minutes=1)
stop = Event()


@backoff(N3, within=minute, stop=stop)
def page(url: str) -> bytes:
    return url.encode()


async def run(interpreter: Interpreter[GetETag | Delay | Now], event: Event | None) -> None:
    assert_type(program.run(interpreter, stop=stop), str)
    assert_type(program.run(interpreter, within=minute, stop=event), str)
    assert_type(await program.run_async(interpreter, within=minute), str)
    assert_type(at(N3).retry(do(GetETag()).limit(minute)).run(interpreter), str)
    assert_type(page("a"), bytes)
    unroll(program, within=minute)
