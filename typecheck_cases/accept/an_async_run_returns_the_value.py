"""`run_async` takes handlers that are awaited, or not, or both."""

from typing import assert_type

from ixbackoff import N3, AsyncInterpreter, Command, Computed, Delay, Exponential, Interpreter, at


class GetETag(Command[str]):
    __slots__ = ()


async def get_etag(command: GetETag) -> str:
    return repr(command)


async def pause(delay: Delay) -> None:
    print(delay.seconds)


def pause_at_once(delay: Delay) -> None:
    print(delay.seconds)


async def run(
    plain: Interpreter[GetETag | Delay], awaited: AsyncInterpreter[GetETag | Delay]
) -> None:
    program = at(N3).retry(GetETag())
    assert_type(await program.run_async(awaited), str)
    assert_type(await program.run_async(plain), str)
    assert_type(await program.run_async(awaited, schedule=Exponential(base=0.1)), str)
    assert_type(await program.run_async(awaited, schedule=Computed(lambda _: 1.0)), str)
    assert_type(
        await program.run_async(GetETag.awaited_by(get_etag) | Delay.awaited_by(pause)), str
    )
    assert_type(
        await program.run_async(GetETag.awaited_by(get_etag) | Delay.handled_by(pause_at_once)), str
    )
    assert_type(
        await program.run_async(Delay.handled_by(pause_at_once) | GetETag.awaited_by(get_etag)), str
    )
