"""What mypy lets through: each of these is refused by the library when it is put together or run.

Three things are behind them: a bare `Succ` is a `Succ[Any]`, `type[N3]` is also a `type[Nat]` and
a `type[N3 | N1]`, and mypy takes two rungs in one conditional or one dict for a plain `type`.
"""

from collections.abc import Generator
from enum import Enum
from typing import Any, Never, NewType, Protocol

from ixbackoff import (
    N0,
    N1,
    N3,
    N15,
    N16,
    N19,
    N20,
    Command,
    Delay,
    Download,
    Interpreter,
    Log,
    Nat,
    Program,
    Succ,
    at,
)

Other = NewType("Other", Nat)
fetch = Download("http://localhost/a", "a")
high = bool("")


class Runs(Protocol):
    def run(self, interpreter: Interpreter[Log], /) -> None: ...


class Waits(Protocol):
    def wait(self) -> Program[N3, N0, None, Delay]: ...


class Ask(Command[object]):
    __slots__ = ()


async def answer(command: Ask) -> str:
    return repr(command)


def once() -> Generator[Download, Any, None]:
    yield from fetch


def a_bare_rung() -> None:
    at(Succ)


def a_rung_below_the_deepest() -> None:
    at(Succ[N20])


def the_base_of_all_rungs() -> None:
    at(Nat)


def a_rung_by_another_name() -> None:
    at(Other)


def a_rung_with_a_metaclass_of_its_own() -> None:
    class Number(Nat, Enum):
        ONE = 1


def a_rung_from_a_conditional() -> None:
    chosen: Program[N3, N3, None, Never] = at(N3 if high else N1)
    chosen.wait().wait()


def a_deep_rung_from_a_conditional() -> None:
    deep: Program[N16, N16, None, Never] = at(N16 if high else N15)
    deep >> at(N16).wait()


def the_deepest_rung_from_a_conditional() -> None:
    deepest: Program[N20, N20, None, Never] = at(N20 if high else N19)
    deepest | at(N20).wait()


def a_rung_from_a_dict() -> None:
    found: Program[N3, N3, None, Never] = at({"N3": N3, "N1": N1}["N1"])
    found >> at(N3).wait()


def a_rung_that_a_function_chooses() -> None:
    def chosen() -> type[N3]:
        return N3 if high else N1

    at(chosen()) >> at(N3).wait()


def an_alternative_on_a_conditional_rung() -> None:
    at(N3) | at(N3 if high else N1)


def a_program_bound_on_a_conditional_rung() -> None:
    interpreter = Log.handled_by(lambda log: None)
    at(N3).bind(lambda _: at(N3 if high else N1)).give_up().run(interpreter)


def two_rungs_that_are_both_a_rung() -> None:
    program: Program[Nat, Nat, None, Never] = at(N3)
    program >> at(N1)


def two_rungs_in_one_union() -> None:
    program: Program[N3 | N1, N3 | N1, None, Never] = at(N1)
    program >> at(N3)


def a_wait_at_the_end_seen_as_a_protocol() -> None:
    waits: Waits = at(N3).give_up()
    waits.wait()


def an_open_program_seen_as_a_protocol() -> None:
    runs: Runs = at(N3)
    runs.run(Log.handled_by(lambda log: None))


def a_generator_that_can_run_only_once() -> None:
    at(N3).retry(once())


def a_coroutine_for_an_answer_of_any_kind() -> None:
    Ask.handled_by(answer)
