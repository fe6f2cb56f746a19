"""The mistakes of a first day: each is told in one sentence what to write instead."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import pytest

import ixbackoff
from ixbackoff import (
    N0,
    N1,
    N2,
    N3,
    Log,
    Misuse,
    NotReady,
    at,
    attempt,
    backoff,
    plan,
)
from ixbackoff._words.wrong_arguments import INSTEAD, RETRIES, TRIES
from ixbackoff.testing import Virtual, always, answers

from ..support.ways.programs import Ask

# Type checkers do not check these, which stand for untyped code.
untyped: Any = ixbackoff
program: Any = at(N1).retry(Ask("a"))
logging: Any = Log.handled_by(lambda command: None)
nobody: Any = Virtual(Ask.handled_by(answers())).interpreter


def page() -> str:
    return "a"


@attempt
def pages() -> Any:
    return page()


MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    "a function in place of a command": (
        lambda: untyped.at(N3).retry(page),
        "is not a command or an attempt; if it returns one, call it first; to try the function "
        "itself, write call(...).",
    ),
    "a lambda in place of a command": (
        lambda: untyped.at(N3).retry(lambda: page()),
        "is not a command or an attempt; if it returns one, call it first; to try the function "
        "itself, write call(...).",
    ),
    "an attempt of a plain function": (
        lambda: at(N0).do(pages()).run(nobody),
        "The attempt pages is not a generator, it returned 'a': it has to issue its commands with "
        "`yield from`.",
    ),
    "no handlers": (
        lambda: program.run(logging),
        "No handler for Delay and Ask: join them to the interpreter, interpreter | "
        "Delay.handled_by(...) | Ask.handled_by(...); live() answers the standard commands.",
    ),
    "a list as a schedule": (
        lambda: program.run(nobody, schedule=[1, 2, 4]),
        "schedule=[1, 2, 4] is not a Schedule: give one, Listed([1, 2, 4]).",
    ),
    "a list as a schedule of a function": (
        lambda: untyped.backoff(N3, schedule=[1, 2, 4]),
        "schedule=[1, 2, 4] is not a Schedule: give one, Listed([1, 2, 4]).",
    ),
    "a wait that is issued": (
        lambda: untyped.Delay(2),
        "Only the ladder waits: use .backoff(), .wait() or .retry(...).",
    ),
}


@pytest.mark.parametrize(("mistake", "sentence"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_told_what_to_write(mistake: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(Misuse) as told:
        mistake()
    assert str(told.value).endswith(sentence)


def test_a_program_that_is_built_in_a_loop_runs() -> None:
    built: Any = at(N2).do(Ask("a"))
    for _ in range(2):
        built = built.backoff().or_else(Ask("a"))
    world = Virtual(Ask.handled_by(answers(NotReady(), NotReady(), 1)))
    assert built.run(world.interpreter) == 1
    assert plan(built).wait_count == len(world.waits) == 2


def test_a_second_retry_has_no_rungs_left() -> None:
    world = Virtual(Ask.handled_by(always(NotReady())))
    first = at(N3).retry(Ask("a")).or_else(Ask("b"))
    with pytest.raises(NotReady):
        first.retry(Ask("c")).run(world.interpreter)
    assert world.commands.count(Ask("a")) == 4
    assert plan(at(N3).retry(Ask("a")).retry(Ask("b"))).tries == 5


OF_BREAKERS = {
    *("reset_timeout", "recovery_timeout", "break_duration", "threshold"),
    *("fail_max", "failure_threshold", "max_failures"),
}


@pytest.mark.parametrize("word", [*sorted(INSTEAD.keys() - OF_BREAKERS), *TRIES[:-1], *RETRIES])
def test_a_word_of_another_library_is_told_in_ours(word: str) -> None:
    three: Any = backoff(N3)
    for make in (functools.partial(untyped.backoff, N3), three.replace):
        with pytest.raises(TypeError, match=rf"\({word}=5\): .*write .*\.$") as told:
            make(**{word: 5})
        written = re.findall(r"schedule=([A-Za-z]+)", str(told.value))
        assert all(hasattr(ixbackoff, name) for name in written)


@pytest.mark.parametrize("word", sorted(OF_BREAKERS))
def test_a_word_of_other_breakers_is_told_in_ours(word: str) -> None:
    with pytest.raises(Misuse, match=rf"\({word}=5\): write (failures=5|open_for=30, .*)\.$"):
        untyped.CircuitBreaker(**{word: 5})
