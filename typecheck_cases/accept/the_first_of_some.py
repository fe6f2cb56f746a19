"""`first_of` answers with the index of the effect that succeeded, and with its answer."""

from typing import assert_type

from ixbackoff import (
    N3,
    Attempt,
    Command,
    CommandOrAttempt,
    Delay,
    Do,
    First,
    Interpreter,
    Log,
    Pick,
    at,
    attempt,
    do,
    first_of,
)


class GetETag(Command[str]):
    __slots__ = ("server",)

    def __init__(self, server: str) -> None:
        self.server = server


@attempt
def careful(server: str) -> Do[GetETag | Log, str]:
    yield from do(Log(server))
    return (yield from do(GetETag(server)))


servers = ["a", "b", "c"]

assert_type(first_of([GetETag("a"), GetETag("b")]), Attempt[GetETag | Pick, First[str]])
assert_type(first_of(GetETag(server) for server in servers), Attempt[GetETag | Pick, First[str]])
assert_type(
    first_of([careful(server) for server in servers], start=1, on=ValueError),
    Attempt[GetETag | Log | Pick, First[str]],
)
mixed: list[CommandOrAttempt[GetETag | Log, str | None]] = [GetETag("a"), Log("b"), careful("c")]
assert_type(first_of(mixed), Attempt[GetETag | Log | Pick, First[str | None]])
wider: First[str | None] = First(0, "a")
won = at(N3).retry(first_of([do(GetETag("a")), careful("b")]))


def shown(winner: First[object]) -> str:
    return f"{winner.index}: {winner.answer}"


def run(interpreter: Interpreter[GetETag | Log | Pick | Delay]) -> None:
    winner = won.run(interpreter)
    assert_type(winner, First[str])
    assert_type(winner.index, int)
    assert_type(winner.answer, str)
    shown(winner)
