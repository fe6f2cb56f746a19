"""`once`: every ladder tries once, in the whole process."""

from __future__ import annotations

from contextlib import suppress
from threading import Thread
from typing import Any

import pytest
from hypothesis import given

from ixbackoff import (
    FOREVER,
    N0,
    N1,
    N2,
    N3,
    Delay,
    NotReady,
    RetryBudget,
    at,
    backoff,
    do,
)
from ixbackoff._meaning.retrying import ONE_TRY
from ixbackoff.fleet import BoundedQueue, simulate
from ixbackoff.testing import Virtual, always, answers, no_waits, single_try

from ..support.generators.programs import effects, outcomes, programs
from ..support.ways.functions import WAYS, Script, Way, program, seen
from ..support.ways.programs import Ask

EVERY_WAY: dict[str, Way] = {**WAYS, "program": program}
a, b = Ask("a"), Ask("b")
NOTE = "ixbackoff: tries: 1, waits: 0, 0 s in all (each ladder tries once: testing.single_try())"


@pytest.mark.parametrize("rung", [N0, N3, FOREVER])
@pytest.mark.parametrize("way", EVERY_WAY.values(), ids=EVERY_WAY)
def test_every_way_to_try_again_tries_once_and_says_why(way: Way, rung: Any) -> None:
    budget = RetryBudget(500)
    with single_try():
        for how in ({}, {"within": 60}, {"budget": budget}):
            made: Any = backoff(rung, **how)
            assert seen(way, made, [NotReady, 1]) == (1, [], None, 0, [NOTE])
            assert seen(way, made, [1]) == (1, [], 1, None, [])
    assert budget.left == 500
    assert ONE_TRY == []


def performed(program: Any, *script: Any) -> list[Any]:
    world = Virtual(Ask.handled_by(answers(*script)))
    with single_try(), pytest.raises(NotReady):
        program.run(world.interpreter)
    return world.commands


@pytest.mark.parametrize("rung", [N0, N3, FOREVER])
def test_each_retry_of_a_program_tries_once(rung: Any) -> None:
    assert performed(at(rung).retry(a), NotReady()) == [a]
    assert performed(at(rung).retry_with(lambda _: a), NotReady()) == [a]
    assert performed(at(rung).resume(do(a).then(lambda _: b)), 1, NotReady()) == [a, b]


def test_what_stands_behind_a_retry_is_still_done() -> None:
    world = Virtual(Ask.handled_by(answers(NotReady(), 2)))
    with single_try():
        assert at(N3).retry(a).or_else(b).run(world.interpreter) == 2
    assert world.commands == [a, b]


def test_a_backoff_ends_the_program() -> None:
    again = at(N2).do(a).backoff().or_else(a).backoff().or_else(a)
    assert performed(again, NotReady()) == [a]


def test_a_wait_is_not_a_retry() -> None:
    world = Virtual(Ask.handled_by(answers(1, 2)))
    with single_try():
        assert at(N2).do(a).wait().do(b).wait().run(world.interpreter) == 2
    assert world.waits == [1, 2]


def test_with_no_waits_it_takes_no_time_either() -> None:
    with single_try(), no_waits() as waits, pytest.raises(NotReady):
        backoff(N3)(Script([NotReady]).ask)()
    assert waits.waited == []


@given(programs(), outcomes)
def test_no_wait_follows_a_failure(program: Any, script: list[Any]) -> None:
    world = Virtual(Ask.handled_by(always(0) if not script else answers(*script * 50)))
    with single_try(), suppress(Exception):
        program.run(world.interpreter)
    assert all(one.failure is None for one in world.commands if isinstance(one, Delay))


@given(effects, outcomes)
def test_a_ladder_does_what_it_would_do_at_n0(effect: Any, script: list[Any]) -> None:
    seen = []
    rungs: list[Any] = [N0, N3]
    for rung in rungs:
        world = Virtual(Ask.handled_by(answers(*script * 50)))
        failure: BaseException | None = None
        answer = None
        try:
            with single_try():
                answer = at(rung).retry(effect).run(world.interpreter)
        except Exception as error:
            failure = error
        seen.append((world.commands, answer, failure.__class__))
    assert seen[0] == seen[1]


def test_it_holds_in_all_threads_and_blocks_can_overlap() -> None:
    script = Script([NotReady])

    def call() -> None:
        with pytest.raises(NotReady):
            backoff(N3)(script.ask)()

    first, second = single_try(), single_try()
    with first:
        second.__enter__()
    thread = Thread(target=call)
    thread.start()
    thread.join()
    second.__exit__(None, None, None)
    assert script.calls == 1
    assert ONE_TRY == []


def test_what_is_being_tried_again_goes_on() -> None:
    switch = single_try()

    def switched() -> NotReady:
        switch.__enter__()
        return NotReady()

    script = Script([NotReady, switched, NotReady, 1])
    with no_waits():
        assert backoff(N3)(script.ask)() == 1
    switch.__exit__(None, None, None)


def test_simulated_clients_try_once() -> None:
    down = BoundedQueue(length=0, work=3600).serves(Ask)
    with single_try():
        outcome = simulate(at(N1).retry(a), down, clients=5, seconds=10)
    assert outcome.total(lambda second: second.asked) == 5


def test_an_exception_ends_it() -> None:
    with pytest.raises(KeyError), single_try():
        raise KeyError
    assert ONE_TRY == []
