"""Resuming: a further try goes on at the command that failed."""

from __future__ import annotations

from typing import Any

import pytest

from ixbackoff import (
    N1,
    N3,
    Call,
    Diverged,
    Do,
    Log,
    NotReady,
    ServerError,
    at,
    attempt,
    call,
)
from ixbackoff.testing import Virtual, answers, waited

from ..support.ways.programs import Ask, calling


def test_resume_goes_on_at_the_command_that_failed() -> None:
    @attempt
    def steps() -> Do[Ask, list[int]]:
        got = []
        for name in "abc":
            got.append((yield from Ask(name)))  # noqa: PERF401
        return got

    world = Virtual(Ask.handled_by(answers(1, 2, NotReady(), NotReady(), 3)))
    with world:
        assert at(N3).resume(steps()).run(world.interpreter) == [1, 2, 3]
    a, b, c = Ask("a"), Ask("b"), Ask("c")
    world.expect(a, b, c, waited(1), c, waited(2), c)


def test_resume_gives_caught_failures_again() -> None:
    @attempt
    def steps() -> Do[Ask, int]:
        try:
            yield from Ask("first")
        except ServerError:
            return (yield from Ask("second"))
        return 0

    world = Virtual(Ask.handled_by(answers(ServerError(500), NotReady(), 7)))
    assert at(N1).resume(steps()).run(world.interpreter) == 7
    world.expect(Ask("first"), Ask("second"), waited(1), Ask("second"))


def test_resume_asks_the_failed_command_again_and_not_its_cleaning_up() -> None:
    @attempt
    def steps() -> Do[Ask, int]:
        try:
            return (yield from Ask("work"))
        finally:
            yield from Ask("clean up")

    world = Virtual(Ask.handled_by(answers(NotReady(), 0, 7, 0)))
    assert at(N1).resume(steps()).run(world.interpreter) == 7
    world.expect(Ask("work"), Ask("clean up"), waited(1), Ask("work"), Ask("clean up"))


def test_resume_polls_when_the_attempt_itself_judges_the_answer() -> None:
    @attempt
    def ready() -> Do[Ask, int]:
        status = yield from Ask("status")
        if status == 0:
            raise NotReady
        return status

    world = Virtual(Ask.handled_by(answers(0, 0, 1)))
    assert at(N3).resume(ready()).run(world.interpreter) == 1


def test_resume_asks_again_what_the_attempt_judged_by_and_not_what_told_it_nothing() -> None:
    @attempt
    def ready() -> Do[Ask | Log, int]:
        yield from Ask("submit")
        status = yield from Ask("status")
        yield from Log(f"it is {status}")
        if status == 0:
            raise NotReady
        return status

    world = Virtual(Ask.handled_by(answers(7, 0, 0, 1)))
    with world:
        assert at(N3).resume(ready()).run(world.interpreter) == 1
    assert [ask for ask in world.commands if isinstance(ask, Ask)] == [
        Ask("submit"),
        *3 * [Ask("status")],
    ]


def test_resume_names_a_divergence() -> None:
    names = iter(["a", "b", "c"])

    @attempt
    def whimsical() -> Do[Ask, int]:
        yield from Ask(next(names))
        return (yield from Ask("then"))

    world = Virtual(Ask.handled_by(answers(1, NotReady())))
    with pytest.raises(Diverged, match=r"issued Ask\(name='b'\) where it had issued Ask\(name='a'"):
        at(N3).resume(whimsical()).run(world.interpreter)


def test_resume_takes_functions_made_anew_for_the_same() -> None:
    @attempt
    def steps() -> Do[Call[int] | Ask, int]:
        one = yield from call(lambda: 1)
        return one + (yield from Ask("a"))

    world = Virtual(calling | Ask.handled_by(answers(NotReady(), 5)))
    assert at(N1).resume(steps()).run(world.interpreter) == 6


def test_a_divergence_is_not_tried_again_and_is_cleaned_up_after() -> None:
    names = iter(["a", "b", "c"])

    @attempt
    def whimsical() -> Do[Ask, int]:
        try:
            yield from Ask(next(names))
            return (yield from Ask("then"))
        finally:
            yield from Ask("clean up")

    world = Virtual(Ask.handled_by(answers(1, NotReady(), 0, 0)))
    with pytest.raises(Diverged):
        at(N3).resume(whimsical(), on=Exception).run(world.interpreter)
    work, then, clean_up = Ask("a"), Ask("then"), Ask("clean up")
    world.expect(work, then, clean_up, waited(1), clean_up)


def test_resume_follows_a_failure_to_the_command_that_it_came_of() -> None:
    @attempt
    def translated() -> Do[Ask, int]:
        try:
            answer = yield from Ask("work")
        except ConnectionError as error:
            yield from Ask("note")
            raise NotReady from error
        return answer

    world = Virtual(Ask.handled_by(answers(ConnectionError(), 0, 7)))
    assert at(N1).resume(translated()).run(world.interpreter) == 7
    world.expect(Ask("work"), Ask("note"), waited(1), Ask("work"))


class Service:
    def __init__(self, number: int) -> None:
        self.number = number

    def get(self) -> int:
        return self.number


def test_resume_tells_calls_of_different_things_apart() -> None:
    numbers = iter(range(10))

    def methods() -> Any:
        return Service(next(numbers)).get

    def closures() -> Any:
        number = next(numbers)
        return lambda: number

    for made in (methods, closures):

        @attempt
        def whimsical(made: Any = made) -> Do[Call[int] | Ask, int]:
            yield from call(made())
            return (yield from Ask("a"))

        world = Virtual(calling | Ask.handled_by(answers(NotReady())))
        with pytest.raises(Diverged):
            at(N3).resume(whimsical()).run(world.interpreter)
