"""What mypy lets through: each of these is refused by the library when it is put together or run.

A bare `Succ` is a `Succ[Any]`, and mypy takes two rungs in one conditional for a plain `type`. The
type of what a `Call` answers is not known when it runs, so two handlers cannot stand side by side.
"""

from collections.abc import Generator
from enum import Enum
from typing import Any

from ixbackoff import (
    FOREVER,
    N1,
    N3,
    N20,
    Backoff,
    Call,
    Command,
    Download,
    Nat,
    Succ,
    at,
    backoff,
)

fetch = Download("http://localhost/a", "a")
high = bool("")


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


def a_rung_above_a_ladder_without_end() -> None:
    at(Succ[FOREVER])


def a_rung_with_a_metaclass_of_its_own() -> None:
    class Number(Nat, Enum):
        ONE = 1


def a_rung_that_a_function_chooses() -> None:
    def chosen() -> type[N3]:
        return N3 if high else N1

    at(chosen()) >> at(N3).wait()


def a_backoff_that_claims_one_rung_of_two() -> None:
    retrying: Backoff[N3] = backoff(N3 if high else N1)
    at(N3) >> retrying.program(print)


def a_generator_that_can_run_only_once() -> None:
    at(N3).retry(once())


def two_handlers_of_one_generic_kind() -> None:
    Call[str].handled_by(lambda command: "a") | Call[int].handled_by(lambda command: 3)


def a_coroutine_for_an_answer_of_any_kind() -> None:
    Ask.handled_by(answer)
