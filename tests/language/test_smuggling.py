"""No step that waits can be put into an attempt by public names."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import pytest

from ixbackoff import N0, N1, N3, N5, Misuse, NotReady, all_of, at, attempt, do, unroll
from ixbackoff.testing import Virtual, always, answers

from ..support.ways.programs import Ask

retried = at(N5).retry(Ask("a"))


def busy() -> Any:
    """A world in which every command fails."""
    return Virtual(Ask.handled_by(always(NotReady())))


@attempt
def by_a_list() -> Generator[Any, Any, Any]:
    place: Any = yield None
    place.append(retried.steps())
    return (yield None)


@attempt
def by_a_request_for_a_program() -> Generator[Any, Any, Any]:
    request: Any = next(iter(do(Ask("a"))))
    return (yield type(request)(retried))


@attempt
def by_a_request_that_is_changed() -> Generator[Any, Any, Any]:
    request: Any = next(iter(do(Ask("a"))))
    request.chain = retried
    return (yield request)


@attempt
def by_its_stream() -> Generator[Any, Any, Any]:
    return (yield from unroll(retried))


@attempt
def by_the_program_itself() -> Generator[Any, Any, Any]:
    return (yield retried)


SMUGGLERS: dict[str, Callable[[], Any]] = {
    "a list": by_a_list,
    "a request for a program": by_a_request_for_a_program,
    "a request that is changed": by_a_request_that_is_changed,
    "the program's stream": by_its_stream,
    "the program itself": by_the_program_itself,
}


@pytest.mark.parametrize("smuggler", SMUGGLERS.values(), ids=SMUGGLERS)
@pytest.mark.parametrize("step", ["do", "retry", "resume", "all_of", "limit"])
def test_no_ladder_gets_into_an_attempt(smuggler: Any, step: str) -> None:
    world = busy()
    effect: Any = smuggler()
    kinds: dict[str, Callable[[], Any]] = {
        "do": lambda: at(N0).do(effect),
        "retry": lambda: at(N1).retry(effect, on=Exception),
        "resume": lambda: at(N1).resume(effect, on=Exception),
        "all_of": lambda: at(N1).retry(do(all_of([effect, Ask("b")])), on=Exception),
        "limit": lambda: at(N1).retry(do(effect).limit(100), on=Exception),
    }
    program = kinds[step]()
    with pytest.raises(Misuse):
        program.run(world.interpreter)
    assert world.waits == []


@pytest.mark.parametrize("recovers", [False, True])
def test_a_step_that_waits_is_rejected_inside_an_attempt(recovers: bool) -> None:
    made: Any = object.__new__
    forged = made(type(do(Ask("a"))))
    forged._before, forged._last, forged._flat = None, None, retried.steps()
    forged._recovers = recovers
    world = busy()
    with pytest.raises(
        Misuse, match="RetryStep is a step of a program and cannot be in an attempt"
    ):
        at(N1).do(forged).end().run(world.interpreter)
    assert world.waits == []


class Stored:
    """An effect whose generator is stored, so it can run only once."""

    def __init__(self) -> None:
        self.generator = self.ask()

    def ask(self) -> Generator[Any, Any, Any]:
        return (yield from Ask("a"))

    def __iter__(self) -> Generator[Any, Any, Any]:
        return self.generator


def test_a_stored_generator_is_refused_at_the_second_try() -> None:
    world = Virtual(Ask.handled_by(answers(NotReady(), 7)))
    with pytest.raises(Misuse, match="returned a generator that had run before"):
        at(N3).retry(Stored()).run(world.interpreter)


def test_a_stored_generator_of_an_attempt_is_refused_at_the_second_try() -> None:
    stored = Stored().generator
    once = attempt(lambda: stored)
    world = Virtual(Ask.handled_by(answers(NotReady(), 7)))
    with pytest.raises(Misuse, match="returned a generator that had run before"):
        at(N3).retry(once()).run(world.interpreter)


def test_hundreds_of_nested_limits_are_no_deeper_than_one() -> None:
    effect: Any = do(Ask("a"))
    for seconds in range(3000, 0, -1):
        effect = effect.limit(seconds).map(lambda answer: answer + 1)
    world = Virtual(Ask.handled_by(answers(NotReady(), 7)))
    assert at(N1).retry(effect).run(world.interpreter) == 3007
