"""The kit for tests: its messages say what was performed, not found, and expected next."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ixbackoff import N1, N2, Delay, Do, Log, Misuse, NotReady, at, attempt, call
from ixbackoff.testing import (
    Unscripted,
    Virtual,
    VirtualAsync,
    always,
    answers,
    by_command,
    computed,
    waited,
)

from ..support.ways.programs import Ask

a, b = Ask("a"), Ask("b")


def told(world: Virtual[Any], *commands: Any) -> list[str]:
    with pytest.raises(AssertionError) as raised:
        world.expect(*commands)
    return [" ".join(line.split()) for line in str(raised.value).splitlines()]


def performed() -> Virtual[Any]:
    world = Virtual(Ask.handled_by(answers(NotReady("x"), 7)))
    at(N1).retry(a).run(world.interpreter)
    return world


def test_it_says_where_another_command_was_expected() -> None:
    assert told(performed(), a, waited(1), b, a) == [
        "expected Ask(name='b'), performed Ask(name='a')",
        "performed:",
        "0.000 Ask(name='a') -> raised NotReady('x')",
        "0.000 Delay(seconds=1.0, rung=1) -> None",
        "not found:",
        "Ask(name='b')",
        "performed instead:",
        "1.000 Ask(name='a') -> 7",
        "expected next:",
        "Ask(name='a')",
    ]


def test_it_says_what_was_never_performed() -> None:
    lines = told(performed(), a, waited(1), a, b)
    assert lines[lines.index("not found:") :] == [
        *("not found:", "Ask(name='b')"),
        *("performed instead:", "nothing"),
        *("expected next:", "nothing"),
    ]


def test_it_says_what_was_performed_beyond() -> None:
    lines = told(performed(), a)
    assert lines[lines.index("not found:") :] == [
        *("not found:", "nothing"),
        *("performed instead:", "0.000 Delay(seconds=1.0, rung=1) -> None"),
        "1.000 Ask(name='a') -> 7",
        *("expected next:", "nothing"),
    ]


def many(number: int) -> Virtual[Any]:
    """A world in which so many commands were performed: `Ask("0")`, `Ask("1")` and so on."""
    world = Virtual(Ask.handled_by(answers(*range(number), *range(1000, 1300))))
    for each in range(number):
        at(N1).do(Ask(str(each))).end().run(world.interpreter)
    return world


def test_a_long_trace_is_cut_in_the_middle() -> None:
    asks = [Ask(str(number)) for number in range(300)]
    lines = told(many(300), *asks[:260], b, *asks)
    assert lines[0] == "expected Ask(name='b'), performed Ask(name='260')"
    performed, instead = lines.index("performed:"), lines.index("performed instead:")
    assert lines[performed + 1 : lines.index("not found:")] == [
        *(f"0.000 Ask(name='{number}') -> {number}" for number in range(20)),
        "... 220 more ...",
        *(f"0.000 Ask(name='{number}') -> {number}" for number in range(240, 260)),
    ]
    expected = lines.index("expected next:")
    assert lines[instead + 1 : expected] == [
        f"0.000 Ask(name='{number}') -> {number}" for number in range(260, 300)
    ]
    assert lines[expected + 20 : expected + 23] == [
        *("Ask(name='19')", "... 260 more ...", "Ask(name='280')")
    ]
    assert len(lines) < 140


@pytest.mark.parametrize("number", [40, 41])
def test_a_trace_is_not_cut_where_that_saves_nothing(number: int) -> None:
    assert "more ..." not in "\n".join(told(many(number), *([a] * number)))


def test_what_was_missed_or_left_after_a_long_trace_is_cut_too() -> None:
    world = many(300)
    with pytest.raises(AssertionError, match=r"\.\.\. 260 more \.\.\.") as left:
        world.check_all_asked()
    assert len(str(left.value).splitlines()) < 100
    unscripted: Any = at(N1).do(call(int)).end()
    with pytest.raises(Unscripted, match=r"\.\.\. 260 more \.\.\.") as missed:
        unscripted.run(world.interpreter)
    assert len(str(missed.value).splitlines()) < 100


@pytest.mark.parametrize("commands", [(), (a,), (a, waited(2), a), (a, waited(1), a, a), (b,)])
def test_expect_takes_nothing_but_what_was_performed(commands: Any) -> None:
    world = performed()
    world.expect(a, waited(1), a)
    with pytest.raises(AssertionError):
        world.expect(*commands)


def test_what_has_no_answer_ends_the_test_whatever_on_says() -> None:
    world = Virtual(Ask.handled_by(answers(NotReady())))
    with pytest.raises(Unscripted, match=r"performed:[^$]*not found:\s+no answer is left for Ask"):
        at(N2).retry(a, on=lambda failure: True).run(world.interpreter)


def test_what_has_no_script_is_named_with_what_was_expected() -> None:
    world: Any = Virtual(Log.handled_by(answers(None)))
    said = r"Ask\(name='a'\): this kind has no script\s+expected next:\s+Log: None"
    with pytest.raises(Unscripted, match=said):
        at(N1).do(a).end().run(world.interpreter)


def test_answers_that_nobody_asked_for_fail_the_test() -> None:
    world = Virtual(Ask.handled_by(by_command({a: answers(1), b: answers(2, 3)})))
    at(N1).do(a).end().run(world.interpreter)
    with pytest.raises(AssertionError, match=r"unused answers:\s+Ask: 2 for .*\s+Ask: 3 for"):
        world.check_all_asked()
    with (
        pytest.raises(AssertionError, match=r"unused answers:\s+Ask: 2"),
        Virtual(Ask.handled_by(answers(2))),
    ):
        pass


def test_an_error_in_the_test_is_not_hidden_by_unused_answers() -> None:
    with pytest.raises(ZeroDivisionError), Virtual(Ask.handled_by(answers(1))):
        raise ZeroDivisionError


def test_what_was_missed_and_held_back_fails_the_test() -> None:
    @attempt
    def careless() -> Do[Ask, int]:
        try:
            return (yield from a)
        except BaseException:
            return 0

    program = at(N1).do(careless()).end()
    with pytest.raises(Unscripted), Virtual(Ask.handled_by(answers())) as world:
        program.run(world.interpreter)


def test_answers_may_be_exceptions_their_classes_and_functions_of_the_command() -> None:
    def length(command: Ask) -> int:
        return len(command.name)

    script: Any = answers(NotReady, computed(length), 5)
    world = Virtual(Ask.handled_by(script))
    program = at(N1).retry(Ask("four")).do(Ask("b"))
    assert program.run(world.interpreter) == 5
    assert [line.answer for line in world.trace] == [None, None, 4, 5]


def test_each_kind_of_world_takes_its_kind_of_handlers() -> None:
    async def answer(command: Ask) -> int:
        return 1

    virtual: Any = Virtual
    virtual_async: Any = VirtualAsync
    with pytest.raises(Misuse, match="use VirtualAsync"):
        virtual(Ask.awaited_by(answer))
    with pytest.raises(Misuse, match="use Virtual"):
        virtual_async(Ask.handled_by(always(1)))


def test_a_coroutine_is_no_answer_in_an_async_world_either() -> None:
    async def answer(command: Ask) -> int:
        return 1

    async def slept(command: Delay) -> None:
        return None

    plain: Any = Ask.handled_by(lambda command: answer(command))  # type: ignore[arg-type, return-value]
    world = VirtualAsync(plain | Delay.awaited_by(slept))
    with pytest.raises(Misuse, match="answered a coroutine"):
        asyncio.run(at(N1).do(a).end().run_async(world.interpreter))
