"""Who answers which command: what is joined, taken out or put around answers what it promises."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from typing import Any, Generic, TypeVar

import pytest

from ixbackoff import (
    N0,
    AsyncInterpreter,
    Call,
    CallAsync,
    Command,
    Delay,
    Interpreter,
    Log,
    Misuse,
    Now,
    Pick,
    all_of,
    at,
    call,
    call_async,
)
from ixbackoff._words.standard_commands import Together
from ixbackoff.live import live, live_async
from ixbackoff.testing import Virtual, always

from ..support.ways.programs import Ask

A = TypeVar("A")
R = TypeVar("R")

GENERIC = "one handler would answer for the other"


class Get(Command[A], Generic[A]):
    __slots__ = ()


class GetMany(Get[list[A]], Generic[A]):
    __slots__ = ()


class GetETag(Get[str]):
    __slots__ = ()


class Page(Command[str], Generic[A]):
    __slots__ = ()


class Front(Page[int]):
    __slots__ = ()


class Ordinary(Command[str]):
    __slots__ = ()


class Special(Ordinary, Generic[A]):
    __slots__ = ()


logs = Log.handled_by(lambda command: None)


def handled(kind: Any, answer: object = 1) -> Any:
    return kind.handled_by(lambda command: answer)


def awaited(kind: Any) -> Any:
    async def answer(command: object) -> int:
        return 1

    return kind.awaited_by(answer)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (Call, Call),
        (Get, Get),
        (Get, GetMany),
        (GetMany, Get),
        (GetETag, Get),
        (Front, Page),
        (Command, Get),
        (Ask, Command),
        (CallAsync, CallAsync),
    ],
)
def test_handlers_that_could_answer_for_a_generic_kind_are_not_joined(
    left: Any, right: Any
) -> None:
    joins: list[Callable[[], Any]] = [
        lambda: handled(left) | handled(right),
        lambda: awaited(left) | handled(right),
        lambda: handled(left) | awaited(right),
        lambda: awaited(left) | awaited(right),
        lambda: logs | handled(left) | (logs | handled(right)),
    ]
    for join in joins:
        with pytest.raises(Misuse, match=GENERIC):
            join()


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (Ask, Ask),
        (Get, GetETag),
        (Get, Call),
        (Call, CallAsync),
        (Special, Ordinary),
        (Ordinary, Special),
    ],
)
def test_other_handlers_are_joined_and_the_right_one_answers(left: Any, right: Any) -> None:
    both = handled(left, "left") | handled(right, "right")
    assert at(N0).do(right.__new__(right)).run(both) == "right"


def test_live_and_a_handler_of_calls_are_not_joined_and_the_error_says_what_to_write() -> None:
    with pytest.raises(Misuse, match=r"Delay.handled_as_in\(interpreter\) \| Call.handled_by"):
        live() | Call[Any].handled_by(lambda command: 3)


def test_what_a_test_scripts_can_be_joined_to_a_generic_kind() -> None:
    world = Virtual(Ask.handled_by(always(1)))
    both: Any = world.interpreter | Call[int].handled_by(lambda command: 3)
    assert at(N0).do(Ask("a")).do(call(len, "")).run(both) == 3
    with Virtual(Call[Any].handled_by(always(2)) | Ask.handled_by(always(1))) as world_of_calls:
        assert at(N0).do(call(len, "")).do(Ask("a")).run(world_of_calls.interpreter) == 1


def test_what_is_needed_is_taken_from_another_interpreter() -> None:
    both = Delay.handled_as_in(live()) | Call[int].handled_by(lambda command: 3)
    assert repr(both) == "<Interpreter of Delay, Call>"
    assert at(N0).do(call(len, "")).run(both) == 3
    later = Delay.handled_as_in(live_async()) | Call[int].handled_by(lambda command: 3)
    assert repr(later) == "<AsyncInterpreter of Delay, Call>"


def test_what_is_taken_answers_the_subclasses_too() -> None:
    gets = handled(Get, "any") | handled(GetETag, "tag") | logs
    taken: Any = Get[Any].handled_as_in(gets)
    assert repr(taken) == "<Interpreter of Get, GetETag>"
    assert at(N0).do(GetETag()).run(taken) == "tag"
    inherited: Any = GetMany[Any].handled_as_in(handled(Get, "any"))
    many: Any = GetMany[int]()
    assert at(N0).do(many).run(inherited) == "any"


def test_what_nobody_answers_cannot_be_taken() -> None:
    given: Any = logs
    with pytest.raises(Misuse, match="No handler for Delay"):
        Delay.handled_as_in(given)
    given = "live"
    with pytest.raises(Misuse, match="give an interpreter"):
        Delay.handled_as_in(given)


@pytest.mark.parametrize("name", ["handled_by", "awaited_by", "handled_as_in"])
def test_no_kind_says_by_itself_what_answers_it(name: str) -> None:
    def mine(cls: Any, handler: Any) -> Any:
        raise AssertionError

    methods: list[Any] = [classmethod(mine), staticmethod(mine), mine, None]
    for method in methods:
        with pytest.raises(Misuse, match=f"Mine cannot override {name}"):
            type("Mine", (Command,), {name: method})
        mixin = type("Mixin", (), {name: method})
        with pytest.raises(Misuse, match=f"Mine cannot override {name}"):
            type("Mine", (mixin, Command), {})


def test_a_kind_has_its_own_init_subclass_with_keywords() -> None:
    class Counted(Command[int]):
        count = 0

        def __init_subclass__(cls, *, count: int = 0) -> None:
            super().__init_subclass__()
            cls.count = count

    class Three(Counted, count=3):
        pass

    assert Three.count == 3


def test_only_runs_perform_what_is_at_once() -> None:
    together: Any = Together
    for refused in (
        lambda: together.handled_by(lambda command: [3]),
        lambda: together.awaited_by(lambda command: [3]),
        lambda: together.handled_as_in(Virtual(logs).interpreter),
        lambda: type("Mine", (Together,), {}),
    ):
        with pytest.raises(Misuse):
            refused()
    anything: Any = handled(Command, "answer")
    effects: Any = all_of(Ask("a"), Ask("b"))
    assert at(N0).do(effects).run(anything) == ("answer", "answer")


def test_what_is_at_once_is_a_tuple_of_some_and_a_list_of_a_list() -> None:
    world = Virtual(Ask.handled_by(always(1)))

    class Own:
        def __iter__(self) -> Generator[Ask, Any, int]:
            yield from Ask("a")
            return 7

    def asks() -> Generator[Ask, None, None]:
        yield Ask("a")
        yield Ask("b")

    own: Any = Own()
    answers: list[tuple[Any, Any]] = [
        (all_of(Ask("a")), (1,)),
        (all_of(all_of(Ask("a"))), ((1,),)),
        (all_of(Ask("a"), Ask("b")), (1, 1)),
        (all_of(own, Ask("b")), (7, 1)),
        (all_of(*[Ask("a")] * 9), (1,) * 9),
        (all_of([Ask("a")]), [1]),
        (all_of((Ask("a"), Ask("b"))), [1, 1]),
        (all_of(asks()), [1, 1]),
        (all_of([all_of(Ask("a"), Ask("b"))]), [(1, 1)]),
    ]
    for effect, answer in answers:
        assert at(N0).do(effect).run(world.interpreter) == answer
        assert at(N0).do(effect).run(handled(Ask)) == answer
        assert asyncio.run(at(N0).do(effect).run_async(handled(Ask))) == answer


class Counting:
    """Counts the commands that it is put around."""

    def __init__(self) -> None:
        self.kinds: list[type] = []

    def __call__(self, command: Command[R], handler: Callable[[Command[R]], R]) -> R:
        self.kinds.append(type(command))
        return handler(command)

    async def later(self, command: Command[R], handler: Callable[[Command[R]], Awaitable[R]]) -> R:
        self.kinds.append(type(command))
        return await handler(command)


def test_a_wrapper_is_given_each_command_and_its_handler() -> None:
    counting = Counting()
    around = live().around(counting)
    assert at(N0).do(call(len, "abc")).do(Pick(1)).run(around) == 0
    assert counting.kinds == [Call, Pick]


def test_a_wrapper_that_is_awaited_awaits_each_handler() -> None:
    async def double(number: int) -> int:
        return 2 * number

    counting = Counting()
    around = live_async().around(counting.later)
    program = at(N0).do(call_async(double, 4)).do(Now()).do(call(len, "abc"))
    assert asyncio.run(program.run_async(around)) == 3
    assert counting.kinds == [CallAsync, Now, Call]


def test_a_wrapper_can_answer_a_generic_kind_itself() -> None:
    def pretending(command: Command[R], handler: Callable[[Command[R]], R]) -> R:
        if isinstance(command, Call):
            answer: Any = command.function.__name__
            given: R = answer
            return given
        return handler(command)

    assert at(N0).do(call(str, 3)).run(live().around(pretending)) == "str"


def test_interpreters_promise_no_more_than_they_have() -> None:
    interpreters: list[Interpreter[Any] | AsyncInterpreter[Any]] = [logs, awaited(Ask)]
    for interpreter in interpreters:
        with pytest.raises(Misuse, match="No handler for Now"):
            asyncio.run(at(N0).do(Now()).run_async(interpreter))
