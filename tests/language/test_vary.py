"""`retry_with`: another effect on each rung."""

from __future__ import annotations

from typing import Any

import pytest

from ixbackoff import N1, N2, N3, Misuse, NotReady, at, do, plan
from ixbackoff.testing import Virtual, always, answers, takes, waited

from ..support.ways.attempts import a
from ..support.ways.programs import Ask


def test_each_rung_has_an_effect_of_its_own() -> None:
    world = Virtual(Ask.handled_by(always(NotReady())))
    with pytest.raises(NotReady):
        at(N3).retry_with(lambda rung: Ask(f"at {rung}")).run(world.interpreter)
    asks = [command for command in world.commands if isinstance(command, Ask)]
    assert asks == [Ask(f"at {rung}") for rung in (3, 2, 1, 0)]


def test_what_varies_ends_when_it_is_well_or_fails_with_something_else() -> None:
    program = at(N3).retry_with(lambda rung: do(Ask(f"at {rung}")).limit(10 - 2 * rung))
    world = Virtual(Ask.handled_by(answers(takes(5, 1), takes(5, 2), 3)))
    assert program.run(world.interpreter) == 2
    world.expect(Ask("at 3"), waited(1), Ask("at 2"))
    assert world.now == 4 + 1 + 5
    world = Virtual(Ask.handled_by(answers(NotReady(), KeyError("k"))))
    with pytest.raises(KeyError):
        program.run(world.interpreter)


def test_a_rung_is_that_where_the_run_stands_and_a_failed_one_is_passed_over() -> None:
    world = Virtual(Ask.handled_by(always(NotReady())))
    program = at(N3).skip().retry_with(lambda rung: Ask(f"at {rung}"))
    with pytest.raises(NotReady):
        program.run(world.interpreter)
    world.expect(Ask("at 2"), waited(2), Ask("at 1"), waited(4), Ask("at 0"))
    world = Virtual(Ask.handled_by(always(KeyError("k"))))
    with pytest.raises(KeyError):
        at(N3).do(a).retry_with(lambda rung: Ask(f"at {rung}")).run(world.interpreter)
    world.expect(a)


def test_what_varies_is_planned_as_a_retry_is() -> None:
    made: list[int] = []

    def varying(rung: int) -> Ask:
        made.append(rung)
        return a

    varied, retried = plan(at(N3).retry_with(varying)), plan(at(N3).retry(a))
    assert varied == retried._replace(commands=varied.commands)
    assert made == []
    assert str(varied.commands) == "those of varying, known only at run time"


def test_a_failure_of_the_function_is_one_of_the_try() -> None:
    def varying(rung: int) -> Ask:
        if rung == 2:
            raise NotReady
        return a

    world = Virtual(Ask.handled_by(answers(7)))
    assert at(N2).retry_with(varying).run(world.interpreter) == 7
    world.expect(waited(1), a)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (5, "is not a function"),
        (lambda rung: 5, "5 is not a command or an attempt"),
        (lambda rung: at(N1).retry(a), "its retries would multiply"),
    ],
)
def test_what_varies_is_a_function_to_effects(given: Any, message: str) -> None:
    program: Any = at(N3)
    world = Virtual(Ask.handled_by(answers()))
    with pytest.raises(Misuse, match=message):
        program.retry_with(given, on=Exception).run(world.interpreter)
    world.expect()
