"""Every command of the row needs a handler in an async run too."""

from ixbackoff import N0, N3, AsyncInterpreter, Command, Delay, Download, Log, Standard, at


class GetETag(Command[str]):
    __slots__ = ()


async def get_etag(command: GetETag) -> str:
    return repr(command)


async def pause(delay: Delay) -> None:
    print(delay.seconds)


tags = GetETag.awaited_by(get_etag)
waits = Delay.awaited_by(pause)
program = at(N3).retry(GetETag())


async def run(standard: AsyncInterpreter[Standard]) -> None:
    await program.run_async(standard)  # E: [arg-type]
    await program.run_async(tags)  # E: [arg-type]
    await program.run_async(waits)  # E: [arg-type]
    await program.run_async(tags | Download.handled_by(lambda command: None))  # E: [operator]
    await program.then(lambda _: Log("a")).run_async(tags | waits)  # E: [operator]
    await at(N0).do(GetETag()).or_else(Log("a")).run_async(tags)  # E: [arg-type]


program.run(tags | waits)  # E: [arg-type]

wider: AsyncInterpreter[GetETag | Delay] = tags  # E: [assignment]
plain: AsyncInterpreter[Delay] = Delay.handled_by(lambda command: None)  # E: [assignment]
