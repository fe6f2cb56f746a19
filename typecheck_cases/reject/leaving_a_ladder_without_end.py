"""Only `retry`, `resume`, `retry_with` and `end` leave a ladder without end."""

from typing import Never, TypeVar

from ixbackoff import (
    FOREVER,
    N0,
    N3,
    N20,
    Backoff,
    Command,
    Delay,
    Forever,
    Interpreter,
    Nat,
    Program,
    Rung,
    Succ,
    Z,
    at,
    backoff,
)


N = TypeVar("N", bound=Nat)


class GetETag(Command[str]):
    __slots__ = ()


def waiting(rung: Rung[Succ[N]]) -> Program[Succ[N], N, None, Delay]:
    return at(rung).wait()


def up(rung: Rung[N]) -> Program[N, Forever, None, Never]:
    return at(rung)  # E: [return-value]


waiting(FOREVER)  # E: [arg-type]

endless = at(FOREVER).do(GetETag())

endless.backoff()  # E: [call-arg]
endless.backoff(on=OSError)  # E: [call-arg]
endless.wait()  # E: [call-arg]
endless.skip()  # E: [call-arg]
endless >> at(N3).retry(GetETag())  # E: [operator]
endless >> at(N0).do(GetETag())  # E: [operator]
endless | at(N20).retry(GetETag())  # E: [operator]
at(N3) >> endless  # E: [operator]
at(N20) | endless  # E: [operator]
at(N0) >> endless  # E: [operator]
endless.bind(lambda _: at(N3).retry(GetETag()))  # E: [arg-type] [return-value]
at(N3).or_bind(lambda _: endless.end())  # E: [arg-type] [return-value]
endless.end() >> endless  # E: [operator]
endless.retry(GetETag()).wait()  # E: [call-arg]
endless.retry(endless.retry(GetETag()))  # E: [arg-type]

counted: Program[N20, N20, None, Never] = at(FOREVER)  # E: [arg-type]
deepest: Program[FOREVER, FOREVER, None, Never] = at(N20)  # E: [arg-type]
ended: Program[FOREVER, Z, str, GetETag] = endless  # E: [assignment]
wider: Program[Nat, Nat, None, Never] = at(FOREVER)  # E: [arg-type]
either: Program[FOREVER | N3, Z] = at(FOREVER).end()  # E: [assignment]
any_rung: Rung[Nat] = FOREVER  # E: [assignment]
twenty: Backoff[N20] = backoff(FOREVER)  # E: [arg-type]
Forever()  # E: [call-arg]


class Longer(Forever):  # E: [call-arg] [misc]
    pass


def run(interpreter: Interpreter[GetETag | Delay]) -> None:
    endless.run(interpreter)  # E: [call-arg]


async def run_async(interpreter: Interpreter[GetETag | Delay]) -> None:
    await endless.run_async(interpreter)  # E: [call-arg]
