"""Names: what a program, a function or a block is called in logs, events and errors."""

from __future__ import annotations

from functools import partial
from os import getcwd
from typing import Any

import pytest

from ixbackoff import (
    N0,
    N1,
    N2,
    N3,
    Download,
    Log,
    Misuse,
    Program,
    Z,
    all_of,
    at,
    attempt,
    backoff,
    call,
    do,
    plan,
)
from ixbackoff._meaning.program_names import name_of_program
from ixbackoff.observing import Began, observed

from ..support.ways.observed_runs import Recorder

PAGE = Download("http://localhost/a", "a")


@attempt
def copied() -> Any:
    yield from PAGE


class Service:
    def fetch(self) -> int:
        return 1

    def __call__(self) -> int:
        return 2


def secret_of(word: str) -> int:
    return len(word)


PROGRAMS: list[tuple[Program[Any, Z, Any, Any], str]] = [
    (at(N3).retry(PAGE), "Download"),
    (at(N3).retry(call(pow, 2, 5)), "pow"),
    (at(N3).retry(copied()), "copied"),
    (at(N3).retry(do(copied()).then(lambda _: Log("done"))), "copied"),
    (at(N3).retry(do(PAGE).limit(5)), "Download"),
    (at(N1).retry(all_of(Log("a"), PAGE)), "Log"),
    (at(N1).skip().do(PAGE) >> at(N0).do(Log("then")), "Download"),
    (at(N1).retry(call(Service().fetch)), "Service.fetch"),
    (at(N1).retry(call(Service())), "Service"),
    (at(N1).retry(call(partial(secret_of, "secret"))), "secret_of"),
    (at(N1).retry_with(lambda rung: PAGE), "a program"),
    (at(N1).end(), "a program"),
]


@pytest.mark.parametrize(("program", "name"), PROGRAMS, ids=[name for _, name in PROGRAMS])
def test_a_program_has_the_name_of_its_first_function_or_command(
    program: Program[Any, Z, Any, Any], name: str
) -> None:
    assert name_of_program(program) == name


def test_a_name_is_no_step_and_stays() -> None:
    plain = at(N3).retry(PAGE)
    named: Program[N3, Z, None, Any] = plain.named("copy page")
    assert named.steps() == plain.steps()
    assert (named.start, named.ends_at, named.may_wait) == (
        plain.start,
        plain.ends_at,
        plain.may_wait,
    )
    assert plan(named) == plan(plain)
    assert repr(named) == "<Program 'copy page' from N3 to N0, 1 step>"
    assert repr(plain) == "<Program from N3 to N0, 1 step>"
    assert name_of_program(at(N3).named("copy page").retry(PAGE)) == "copy page"
    assert name_of_program(named.named("another")) == "another"
    assert name_of_program(at(N2).skip().named("first") >> at(N1).named("second").retry(PAGE)) == (
        "first"
    )


def names(run: Any) -> list[str]:
    recorder = Recorder()
    with observed(recorder):
        run()
    return [event.run.name for event in recorder.of(Began)]


def test_a_call_has_the_name_of_its_function() -> None:
    service = Service()
    assert names(lambda: backoff(N1).call(service.fetch)) == ["Service.fetch"]
    assert names(lambda: backoff(N1, within=5).call(service.fetch)) == ["Service.fetch"]
    assert names(lambda: backoff(N1).call(partial(secret_of, "secret"))) == ["secret_of"]
    assert names(lambda: backoff(N1, name="fetch").call(service.fetch)) == ["fetch"]
    assert names(lambda: backoff(N1, name="fetch", within=5).call(service.fetch)) == ["fetch"]


def test_a_block_has_the_name_of_the_function_that_it_stands_in() -> None:
    def look() -> None:
        for one_try in backoff(N1):
            with one_try:
                pass

    assert names(look) == ["look"]


def test_backoff_says_its_name() -> None:
    assert repr(backoff(N1, name="fetch")) == "backoff(N1, name='fetch')"
    assert names(backoff(N1, name="fetch")(getcwd)) == ["fetch"]


wrong: list[Any] = ["", 3, b"fetch"]


@pytest.mark.parametrize("name", wrong)
def test_what_is_not_a_name_is_refused(name: Any) -> None:
    with pytest.raises(Misuse, match="give a string that is not empty"):
        at(N1).named(name)
    with pytest.raises(Misuse, match="give a string that is not empty"):
        backoff(N1, name=name)
