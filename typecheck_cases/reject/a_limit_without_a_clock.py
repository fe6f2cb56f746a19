"""A limit needs somebody who answers `Now`, and a number of seconds."""

from ixbackoff import N0, N3, Attempt, Command, Delay, Interpreter, Program, Z, at, do


class GetETag(Command[str]):
    __slots__ = ()


limited = do(GetETag()).limit(5)


async def run(interpreter: Interpreter[GetETag | Delay]) -> None:
    at(N0).do(limited).run(interpreter)  # E: [arg-type]
    at(N3).retry(limited).run(interpreter)  # E: [arg-type]
    at(N3).resume(limited.map(len)).run(interpreter)  # E: [arg-type]
    at(N3).retry_with(lambda rung: do(GetETag()).limit(rung + 1)).run(interpreter)  # E: [arg-type]
    await at(N3).retry(limited).run_async(interpreter)  # E: [arg-type]


timeless: Attempt[GetETag, str] = limited  # E: [assignment]
untimed: Program[N3, Z, str, GetETag | Delay] = at(N3).retry(limited)  # E: [arg-type]

do(GetETag()).limit("5")  # E: [arg-type]
do(GetETag()).limit(None)  # E: [arg-type]
do(GetETag()).limit()  # E: [call-arg]
at(N3).retry(GetETag()).limit(5)  # E: [attr-defined]
