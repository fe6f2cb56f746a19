"""Alternatives: the first effect that succeeds."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from ixbackoff import (
    N0,
    N1,
    N3,
    First,
    Log,
    Misuse,
    NotReady,
    Pick,
    ServerError,
    all_of,
    at,
    call,
    do,
    first_of,
    plan,
)
from ixbackoff.live import live
from ixbackoff.testing import Virtual, always, answers, by_command, takes, waited

from ..support.ways.attempts import Stop, a, b, c, holding
from ..support.ways.programs import Ask


@pytest.mark.parametrize("start", [0, 1, 2])
@pytest.mark.parametrize("well", [0, 1, 2])
def test_the_first_that_is_well_wins_from_the_start_on_and_round(start: int, well: int) -> None:
    scripts: Any = {
        ask: answers(7) if place == well else always(NotReady())
        for place, ask in enumerate((a, b, c))
    }
    world = Virtual(Ask.handled_by(by_command(scripts)))
    won = at(N0).do(first_of([a, b, c], start=start)).run(world.interpreter)
    assert won == First(well, 7) == First(index=well, answer=7)
    in_turn = [a, b, c, a, b]
    world.expect(*in_turn[start : in_turn.index((a, b, c)[well], start) + 1])


@pytest.mark.parametrize("start", [0, 1, 2])
def test_when_all_fail_the_failure_is_that_of_the_last(start: int) -> None:
    failures = [ServerError(500), ServerError(501), ServerError(502)]
    scripts: Any = {ask: answers(failure) for ask, failure in zip((a, b, c), failures, strict=True)}
    world = Virtual(Ask.handled_by(by_command(scripts)))
    with world, pytest.raises(ServerError) as raised:
        at(N0).do(first_of([a, b, c], start=start)).run(world.interpreter)
    assert raised.value is failures[start - 1]
    assert raised.value.__context__ is None


def test_one_effect_is_its_own_alternative() -> None:
    world = Virtual(Ask.handled_by(answers(7)))
    assert at(N0).do(first_of([a])).run(world.interpreter) == First(0, 7)
    world = Virtual(Ask.handled_by(answers(KeyError("k"))))
    with pytest.raises(KeyError):
        at(N0).do(first_of([a])).run(world.interpreter)


def test_only_after_a_failure_that_is_on_the_next_one_is_asked() -> None:
    def run(on: Any) -> Any:
        world = Virtual(Ask.handled_by(answers(KeyError("k"), 7)))
        return at(N0).do(first_of([a, b], start=0, on=on)).run(world.interpreter)

    for on in (KeyError, (KeyError, ValueError), lambda failure: "k" in str(failure)):
        assert run(on) == First(1, 7)
    with pytest.raises(KeyError):
        run(ValueError)


@pytest.mark.parametrize("stop", [Stop(), KeyboardInterrupt()])
def test_what_is_no_failure_is_not_held_back_by_an_alternative(stop: BaseException) -> None:
    world = Virtual(Ask.handled_by(answers(stop)))
    with pytest.raises(type(stop)):
        at(N3).retry(first_of([a, b], start=0, on=Exception)).run(world.interpreter)
    world.expect(a)


def test_no_alternative_recovers_from_a_misuse() -> None:
    program: Any = at(N0).do(first_of([Log("no handler"), a], start=0, on=Exception))
    with pytest.raises(Misuse, match="No handler for Log"):
        program.run(Ask.handled_by(lambda command: 7))


@pytest.mark.parametrize("picked", [0, 1, 2])
def test_the_interpreter_picks_the_start(picked: int) -> None:
    world = Virtual(Pick.handled_by(answers(picked)) | Ask.handled_by(answers(NotReady(), 7)))
    won = at(N0).do(first_of([a, b, c])).run(world.interpreter)
    assert won == First((picked + 1) % 3, 7)
    assert world.commands[0] == Pick(3)


def test_a_random_start_is_as_likely_as_any_other() -> None:
    effects = [call(str, place) for place in range(4)]
    program = at(N0).do(first_of(effects)).map(lambda won: won.index)
    interpreter = live()
    random.seed(20261121)
    won = Counter(program.run(interpreter) for _ in range(2000))
    # Each is won 500 times; the standard deviation is sqrt(2000 * 1/4 * 3/4) < 20.
    assert sorted(won) == [0, 1, 2, 3]
    assert all(abs(times - 500) < 5 * 20 for times in won.values())


def test_a_resumed_alternative_starts_where_it_started() -> None:
    world = Virtual(
        Pick.handled_by(answers(1)) | Ask.handled_by(answers(NotReady(), NotReady(), 7, 8))
    )
    program = at(N1).resume(do(first_of([a, b], on=NotReady)).then(lambda won: c))
    assert program.run(world.interpreter) == 8
    world.expect(Pick(2), b, a, waited(1), a, c)


def test_a_retried_alternative_picks_anew() -> None:
    world = Virtual(
        Pick.handled_by(answers(1, 0)) | Ask.handled_by(answers(NotReady(), NotReady(), 7))
    )
    assert at(N1).retry(first_of([a, b])).run(world.interpreter) == First(0, 7)
    world.expect(Pick(2), b, a, waited(1), Pick(2), a)


def test_alternatives_with_limits_leave_a_black_hole_behind() -> None:
    scripts = {a: always(takes(900, 0)), b: always(takes(10, 7))}
    world = Virtual(Ask.handled_by(by_command(scripts)))
    readers = [do(server).limit(60) for server in (a, b)]
    assert at(N0).do(first_of(readers)).run(world.interpreter, within=900) == First(1, 7)
    assert world.now == 70


def test_alternatives_may_be_given_by_an_iterator_and_used_again() -> None:
    program = at(N1).retry(first_of(iter([a, b]), start=0))
    for _ in range(2):
        world = Virtual(Ask.handled_by(answers(NotReady(), 7)))
        assert program.run(world.interpreter) == First(1, 7)


untyped_first_of: Any = first_of
untyped_all_of: Any = all_of


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: untyped_first_of([]), ValueError, "give one effect at least"),
        (lambda: untyped_first_of([a], start=1), ValueError, "give an index from 0 to 0"),
        (lambda: untyped_first_of([a], start=-1), ValueError, "give an index from 0 to 0"),
        (lambda: untyped_first_of([a, b], start=0.5), ValueError, "give an index from 0 to 1"),
        (lambda: untyped_first_of([a, b], start="0"), ValueError, "give an index from 0 to 1"),
        (lambda: untyped_first_of([a], on=3), TypeError, "on=3 chooses no failures"),
        (lambda: untyped_first_of([a, 5]), TypeError, "5 is not a command or an attempt"),
        (lambda: untyped_first_of([at(N1).retry(a)]), TypeError, "its retries would multiply"),
        (lambda: untyped_all_of([a, 5]), TypeError, "5 is not a command or an attempt"),
        (lambda: untyped_all_of([at(N1).retry(a)]), TypeError, "its retries would multiply"),
        (lambda: untyped_all_of([a, holding]), TypeError, "call it first"),
        (lambda: untyped_all_of(5), TypeError, "give a list"),
        (lambda: untyped_all_of(at(N1).retry(a)), TypeError, "its retries would multiply"),
        (lambda: untyped_all_of(a, at(N1).retry(a)), TypeError, "its retries would multiply"),
        (lambda: untyped_all_of(a, [a]), TypeError, "is not a command or an attempt"),
        (lambda: untyped_all_of(), TypeError, "or a list of them"),
    ],
)
def test_what_are_no_alternatives_is_refused(make: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        make()


def test_a_plan_knows_what_it_asks_at_most() -> None:
    known = plan(at(N1).retry(first_of([do(a).limit(3), do(b).limit(5)])))
    assert str(known.commands) == "2 Pick, 4 Ask"
    assert known.longest == 2 * (3 + 5) + 1
