"""`backoff` as people use it: until, but, plan, run, and the words of other libraries."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ixbackoff import (
    FOREVER,
    N0,
    N1,
    N2,
    N3,
    Backoff,
    Call,
    CallAsync,
    Delay,
    Exponential,
    Log,
    Misuse,
    Nat,
    NotReady,
    RetryBudget,
    answered_by,
    at,
    backoff,
    call,
    plan,
    unroll,
)
from ixbackoff.schedules import Constant
from ixbackoff.testing import Virtual, always, answers

from ..support.ids import shown

SHORT = Constant(0.0001)
RUNGS: dict[str, type[Nat]] = {"test": N0, "one": N1, "many": N3, "worker": FOREVER}
done = backoff(N3, schedule=SHORT, until=lambda answer: answer == "done")


@pytest.mark.parametrize(("setting", "tries"), [("test", 1), ("one", 2), ("many", 4)])
def test_a_setting_chooses_the_rung(setting: str, tries: int) -> None:
    handler = answers(*[NotReady() for _ in range(9)])

    @backoff(RUNGS[setting], schedule=SHORT)
    def page(name: str) -> str:
        return handler(call(str, name))

    with pytest.raises(NotReady):
        page("a")
    assert 9 - len(handler.left) == tries
    chosen: Backoff[Nat] = backoff(RUNGS[setting])
    program = chosen.program(page, "a")
    assert (program.start, program.ends_at, chosen.rung_name) == (tries - 1, 0, f"N{tries - 1}")
    assert plan(program).wait_count == tries - 1


def test_the_program_of_a_chosen_rung_follows_none_that_ends_elsewhere() -> None:
    program: Any = backoff(RUNGS["one"]).program(str, "a")
    rungs: list[Any] = [N0, N2, N3, FOREVER]
    for rung in rungs:
        with pytest.raises(Misuse, match="cannot continue with one that starts at N1"):
            at(rung) >> program
    assert (at(N1) >> program).ends_at == 0


def test_an_answer_that_is_not_wanted_is_asked_for_again() -> None:
    given = iter(["copying", "copying", "done"])
    assert done(lambda: next(given))() == "done"
    assert list(given) == []


def test_the_last_one_that_is_not_wanted_is_told() -> None:
    with pytest.raises(NotReady, match="not what was expected: 'copying'") as caught:
        done(lambda: "copying")()
    assert "tries: 4" in caught.value.__notes__[-1]


def test_awaited_answers_are_asked_for_again() -> None:
    given = iter(["copying", "done"])

    @done
    async def status() -> str:
        return next(given)

    assert asyncio.run(status()) == "done"


def test_answers_of_a_script_are_judged_as_well() -> None:
    @done
    def status() -> str:
        raise NotImplementedError

    @done
    async def status_async() -> str:
        raise NotImplementedError

    world = Virtual(Call.handled_by(answers("copying", NotReady(), "done")))
    with world, answered_by(world.interpreter):
        assert status() == "done"
    asked = [one.function for one in world.commands if isinstance(one, Call)]
    assert asked == [status.__wrapped__] * 3  # type: ignore[attr-defined]
    awaited = Virtual(CallAsync.handled_by(answers("copying", "done")))
    with awaited, answered_by(awaited.interpreter):
        assert asyncio.run(status_async()) == "done"


@pytest.mark.parametrize("on", [ValueError, [ValueError], lambda failure: False], ids=shown)
def test_whatever_on_says_an_answer_that_is_not_wanted_is_tried_again(on: Any) -> None:
    given = iter([1, 2, 3])
    assert backoff(N3, schedule=SHORT, on=on, until=lambda answer: answer == 3)(given.__next__)()


def test_an_error_of_the_predicate_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        backoff(N3, until=lambda answer: answer / 0)(abs)(-1)


def test_a_deadline_holds_for_answers_that_are_not_wanted() -> None:
    world = Virtual(Call.handled_by(always("copying")))
    with answered_by(world.interpreter), pytest.raises(NotReady):
        backoff(N3, within=2.5, until=lambda answer: answer == "done")(print)()
    assert world.waits == [1.0]


def test_a_predicate_that_turns_out_to_be_awaited_is_refused() -> None:
    async def is_done(answer: str) -> bool:
        return answer == "done"

    awaited: Any = lambda answer: is_done(answer)  # noqa: E731  no coroutine function itself
    for how in (backoff(N3, until=awaited), backoff(N3, until=awaited, within=60)):
        with pytest.raises(Misuse, match="returned a coroutine, which is always true"):
            how.call(str, "copying")


def test_a_block_has_no_answer_to_judge() -> None:
    with pytest.raises(Misuse, match="until= is for functions"):
        iter(done)


def test_but_changes_one_thing_and_keeps_the_others() -> None:
    budget = RetryBudget(5)
    patiently = backoff(N3, within=60, budget=budget, on=ValueError)
    quickly = patiently.replace(within=2, schedule=Exponential(base=0.1))
    assert repr(quickly) == (
        "backoff(N3, on=<class 'ValueError'>, schedule=Exponential(base=0.1, factor=2.0, cap=None),"
        f" within=2, budget={budget!r})"
    )
    assert quickly.replace(within=60, schedule=backoff(N3)._settings.schedule)._settings == (
        patiently._settings
    )
    assert patiently.replace(within=None)._settings.within is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tries": 3}, r"replace\(tries=3\): 3 tries are N2, so write backoff\(N2\)"),
        ({"never": 3}, "replace\\(never=3\\): it takes on, until"),
        ({"within": -1.0, "schedule": 3}, "schedule"),
        ({"until": 3}, "until=3: give a function from the answer to a bool"),
        ({"nested": "twice"}, 'nested=\'twice\': give "once" or "refused"'),
        ({"budget": 3}, "budget=3 is not a budget"),
    ],
    ids=repr,
)
def test_a_change_is_checked_as_an_argument_is(changes: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        backoff(N3).replace(**changes)


async def no_predicate(answer: object) -> bool:
    return True


def test_a_coroutine_function_is_not_a_predicate() -> None:
    untyped: Any = no_predicate
    with pytest.raises(Misuse, match="is not a predicate"):
        backoff(N3, until=untyped)


def test_its_plan_has_its_own_schedule() -> None:
    slowly = backoff(N2, schedule=Constant(9))
    assert slowly.plan(print).seconds == 18
    assert plan(slowly(print)).seconds == 18
    assert plan(slowly.program(print)).seconds == 18
    assert plan(slowly.program(print), Constant(1)).seconds == 2


def test_a_decorated_coroutine_function_and_a_method_have_a_plan() -> None:
    class Client:
        @backoff(N2)
        def get(self) -> None: ...

        @backoff(N3)
        async def get_async(self) -> None: ...

    assert plan(Client.get).tries == plan(Client().get).tries == 3
    assert plan(Client.get_async).tries == 4


def test_what_is_decorated_twice_has_the_plan_of_the_outer_one() -> None:
    once, thrice = backoff(N0), backoff(N2)
    assert plan(thrice(once(print))) == plan(thrice(print))


def test_what_is_not_decorated_has_no_plan() -> None:
    with pytest.raises(Misuse, match="or a function that is decorated with backoff"):
        plan(print)


def test_a_program_brings_the_defaults_of_its_backoff() -> None:
    made = backoff(N3, schedule=Constant(5), within=11).program(print)
    world = Virtual(Call.handled_by(always(NotReady())))
    with pytest.raises(NotReady) as caught:
        made.run(world.interpreter)
    assert world.waits == [5.0, 5.0]
    assert any("not end before the deadline of 11 s" in note for note in caught.value.__notes__)
    world = Virtual(Call.handled_by(always(NotReady())))
    with pytest.raises(NotReady):
        made.run(world.interpreter, schedule=Constant(1), within=60)
    assert world.waits == [1.0, 1.0, 1.0]
    stream = unroll(backoff(N1, schedule=Constant(5)).program(print))
    next(stream)
    wait = stream.throw(NotReady())
    assert isinstance(wait, Delay)
    assert wait.seconds == 5


def test_a_budget_is_among_them() -> None:
    made = backoff(N3, budget=RetryBudget(1)).program(print)
    world = Virtual(Call.handled_by(always(NotReady())))
    with pytest.raises(NotReady):
        made.run(world.interpreter)
    assert world.waits == [1.0]


def test_of_joined_programs_the_first_that_has_defaults_gives_them() -> None:
    made = backoff(N1, schedule=Constant(5)).program(print)
    other = backoff(N0, schedule=Constant(7)).program(print)
    assert plan(at(N2).do(Log("first")).wait() >> made).seconds == 10
    assert plan(made >> other).seconds == 5
    assert plan(made.do(Log("done"))).seconds == 5


def test_it_runs_commands_and_attempts() -> None:
    world = Virtual(Call.handled_by(answers(NotReady(), "page")))
    assert backoff(N1, schedule=Constant(3)).run(call(print), world.interpreter) == "page"
    assert world.waits == [3.0]
    world = Virtual(Call.handled_by(answers("copying", "done")))
    assert asyncio.run(done.run_async(call(print), world.interpreter)) == "done"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"attempts": 5}, r"backoff\(attempts=5\): 5 tries are N4, so write backoff\(N4\)."),
        ({"max_tries": 1}, "1 try is N0"),
        ({"max_retries": 3}, r"4 tries are N3, so write backoff\(N3\)"),
        ({"total": 3}, r"4 tries are N3, so write backoff\(N3\)"),
        ({"exclude": OSError}, "on=..., a predicate that is false"),
        ({"attempts": 500}, "give a rung, N0 to N20"),
        ({"timeout": 5}, "write within=..., in seconds"),
        ({"wait": 5}, "write schedule=Exponential"),
        ({"reraise": True}, "the last failure itself is always raised"),
    ],
    ids=repr,
)
def test_the_words_of_other_libraries_are_told_in_ours(given: Any, message: str) -> None:
    untyped: Any = backoff
    with pytest.raises(TypeError, match=message):
        untyped(**given)
    with pytest.raises(TypeError, match=message):
        untyped(N3, **given)


def test_a_for_loop_in_a_coroutine_is_refused() -> None:
    async def blocking() -> None:
        for one_try in backoff(N3):
            with one_try:
                raise NotReady

    with pytest.raises(Misuse, match=r"would block the event loop .* write `async for`"):
        asyncio.run(blocking())


def test_a_for_loop_in_a_function_that_a_coroutine_calls_is_its_own_affair() -> None:
    def plain() -> int:
        for one_try in backoff(N3):
            with one_try:
                return 3
        raise AssertionError("it neither returned nor raised")

    async def calling() -> int:
        return plain()

    assert asyncio.run(calling()) == 3


def test_a_decorated_function_is_called_with_another_backoff_in_place_of_its_own() -> None:
    calls: list[int] = []

    class Client:
        @backoff(N3, schedule=SHORT)
        def get(self, number: int) -> int:
            calls.append(number)
            raise NotReady

        @staticmethod
        @backoff(N3, schedule=SHORT)
        def put(number: int) -> int:
            calls.append(number)
            raise NotReady

    with pytest.raises(NotReady):
        backoff(N1, schedule=SHORT).call(Client().get, 5)
    with pytest.raises(NotReady):
        backoff(N2, schedule=SHORT).call(Client.put, 6)
    assert calls == [5, 5, 6, 6, 6]
