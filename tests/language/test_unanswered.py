"""All kinds of commands without a handler are named at once, as far as they are known."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from ixbackoff import (
    N0,
    N1,
    N2,
    Command,
    Delay,
    Do,
    Download,
    Interpreter,
    Log,
    Misuse,
    NotReady,
    Pick,
    Program,
    all_of,
    at,
    attempt,
    do,
)

from ..support.ways.programs import Ask

logs: Any = Log.handled_by(lambda command: None)
asks: Any = Ask.handled_by(lambda command: 1)
waits: Any = Delay.handled_by(lambda command: None)
get = Download("http://localhost/a", "a")


class Kind(Ask):
    """Answered by a handler of `Ask`."""

    __slots__ = ()


@attempt
def asking() -> Do[Ask, int]:
    return (yield from Ask("a"))


def failing(command: object) -> Any:
    raise NotReady


CASES: dict[str, tuple[Any, Any, str]] = {
    "one": (at(N0).do(Ask("a")), logs, "Ask"),
    "steps": (at(N0).do(Ask("a")).do(get).do(Pick(2)), logs, "Ask, Download and Pick"),
    "the first comes first": (at(N0).do(Log("a")).do(get).do(Ask("a")), logs, "Download and Ask"),
    "each once": (at(N0).do(Ask("a")).do(Ask("b")).do(get), logs, "Ask and Download"),
    "waits": (at(N1).retry(Ask("a")), logs, "Delay and Ask"),
    "waits of another piece": (
        at(N1).do(Ask("a")).wait() >> at(N0).do(get),
        logs,
        "Delay, Ask and Download",
    ),
    "alternatives": (at(N0).do(get).or_else(Ask("a")), logs, "Download and Ask"),
    "joined programs": (
        at(N0).do(get) >> (at(N0).do(Ask("a")) | at(N0).do(Pick(2))),
        logs,
        "Download, Ask and Pick",
    ),
    "in attempts": (at(N0).do(do(get).or_else(do(Ask("a")))), logs, "Download and Ask"),
    "at once": (
        at(N0).do(all_of(get, all_of([Pick(1)]), Ask("a"))),
        logs,
        "Download, Pick and Ask",
    ),
    "limited": (at(N0).do(get).do(do(Ask("a")).limit(5)), logs, "Download, Now and Ask"),
    "on each try": (at(N1).retry(do(get).then(lambda _: Ask("a"))), waits, "Download"),
    "a subclass is answered": (at(N0).do(get).do(Kind("a")).do(Pick(2)), asks, "Download and Pick"),
    "a function is not asked": (at(N0).then(lambda _: get).do(Ask("a")), logs, "Download and Ask"),
    "nor an attempt": (at(N0).do(asking()).do(get), logs, "Ask and Download"),
    "nor what varies": (at(N1).retry_with(lambda rung: get), waits, "Download"),
}


@pytest.mark.parametrize(("program", "interpreter", "named"), CASES.values(), ids=CASES)
def test_all_that_are_known_are_named(program: Any, interpreter: Any, named: str) -> None:
    runs: list[Callable[[], Any]] = [
        lambda: program.run(interpreter),
        lambda: asyncio.run(program.run_async(interpreter)),
    ]
    for run in runs:
        with pytest.raises(Misuse, match=f"^No handler for {named}: join ") as raised:
            run()
        for kind in named.replace(" and ", ", ").split(", "):
            assert f"| {kind}.handled_by(...)" in str(raised.value)


def test_pieces_that_are_used_again_are_looked_through_once() -> None:
    piece: Any = do(get).or_else(Ask("a"))
    for _ in range(100):
        piece = do(piece).or_else(piece)
    program: Any = at(N0).do(piece)
    for _ in range(100):
        program = program >> program
    with pytest.raises(Misuse, match=r"^No handler for Download and Ask: join"):
        program.run(logs)


def test_what_an_inner_program_misses_is_not_mixed_with_the_outer_one() -> None:
    inner: Any = at(N0).do(get).do(Pick(2))

    class Run(Command[int]):
        __slots__ = ()

    outer: Any = at(N0).do(Run()).do(Ask("a")).do(Log("b"))
    with pytest.raises(Misuse, match=r"^No handler for Download and Pick: join"):
        outer.run(Run.handled_by(lambda _: inner.run(logs)))


def test_a_run_that_lacks_nothing_known_is_not_looked_through() -> None:
    """It costs nothing where nothing is missing: a handler's own Misuse is passed on as it is."""
    refusal = Misuse("mine")

    def refuse(command: object) -> Any:
        raise refusal

    program: Program[N2, N0, int, Ask | Delay] = at(N2).retry(Ask("a")).do(Ask("b"))
    answering: Interpreter[Ask | Delay] = Ask.handled_by(refuse) | waits
    with pytest.raises(Misuse) as raised:
        program.run(answering)
    assert raised.value is refusal
    assert refusal.args == ("mine",)
