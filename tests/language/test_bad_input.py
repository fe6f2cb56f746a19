"""Programs put together wrongly, unseen by a type checker, get one clear error, early."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import ixbackoff
from ixbackoff import (
    FOREVER,
    N0,
    N1,
    N2,
    N3,
    N20,
    Call,
    Delay,
    Do,
    Exponential,
    Forever,
    Log,
    Misuse,
    Nat,
    NotReady,
    ServerError,
    Succ,
    Throttled,
    Transient,
    Z,
    at,
    attempt,
    backoff,
    call,
    do,
    first_of,
    reflect,
)
from ixbackoff._words.rungs import ENDLESS, P_inner, position
from ixbackoff.live import live
from ixbackoff.schedules import Computed
from ixbackoff.testing import Virtual, always, answers

from ..support.ways.programs import Ask

say = Log("x")
# Type checkers do not check these, which stand for untyped code.
untyped: Any = ixbackoff
log_only: Any = Log.handled_by(lambda command: None)
asked: Any = Ask.handled_by(lambda command: 1)


@attempt
def asking() -> Do[Ask, int]:
    return (yield from Ask("a"))


def no_generator() -> Any:
    return 5


async def coroutine(command: object) -> int:
    return 1


def generator() -> Any:
    yield from Ask("a")


succ: Any = Succ
a_type_variable: Any = P_inner
NOT_RUNGS = [
    int,
    Succ,
    succ[Any],
    succ[a_type_variable],
    succ[int],
    21,
    True,
    None,
    Nat,
    "N3",
    succ[N20],
    succ[FOREVER],
]


@pytest.mark.parametrize("rung", NOT_RUNGS, ids=repr)
def test_only_n0_to_n20_are_rungs(rung: Any) -> None:
    with pytest.raises(TypeError, match=r"use one of N0 to N20|N20 is the highest rung"):
        at(rung)


def test_a_number_is_told_its_rung() -> None:
    for number in (0, 3, 20):
        for begin in (untyped.at, untyped.backoff, untyped.reflect):
            with pytest.raises(TypeError, match=f"{number} is not a rung: write N{number}"):
                begin(number)


def test_a_ladder_without_end_has_a_rung_and_no_number() -> None:
    assert repr(at(FOREVER)) == "<Program from FOREVER to FOREVER, 0 steps>"
    assert repr(backoff(FOREVER)) == "backoff(FOREVER)"
    assert position(FOREVER) == ENDLESS == position(N20) + 1
    with pytest.raises(TypeError, match="FOREVER has no number"):
        reflect(FOREVER)


def test_a_program_that_goes_up_is_told_what_else_can_be_done() -> None:
    first, second = at(N1).retry(Ask("a")), at(N3).retry(Ask("b"))
    for higher in (second, at(FOREVER)):
        with pytest.raises(Misuse, match=r"start the second with at\(N0\), or put its effect"):
            untyped_join(first, higher)
    with pytest.raises(Misuse, match=r"starts at FOREVER"):
        untyped_join(first, at(FOREVER))
    with pytest.raises(
        Misuse, match=r"ends at N3 .*starts at N1: start the second with at\(N3\)\.$"
    ):
        untyped_join(at(N3), at(N1))


def untyped_join(first: Any, second: Any) -> Any:
    return first >> second


def test_backoff_without_parentheses_is_told_of_them() -> None:
    def page() -> None: ...

    method: Any = page
    bare: list[Any] = [page, staticmethod(page), classmethod(method)]
    for function in bare:
        with pytest.raises(TypeError, match=r"write @backoff\(N3\), with parentheses"):
            untyped.backoff(function)


SEALED: dict[str, Callable[[], Any]] = {
    "an instance of Z": lambda: untyped.Z(0),
    "an instance of Succ": lambda: untyped.Succ(0),
    "a Program": lambda: untyped.Program(0),
    "an Attempt": lambda: untyped.Attempt(0),
    "a Delay": lambda: untyped.Delay(0),
    "an Interpreter": lambda: untyped.Interpreter(0),
    "an AsyncInterpreter": lambda: untyped.AsyncInterpreter(0),
    "a subclass of Nat": lambda: type("Mine", (Nat,), {}),
    "a subclass of Forever": lambda: type("Mine", (Forever,), {}),
    "an instance of Forever": lambda: untyped.Forever(),
    "a subclass of Z": lambda: type("Mine", (Z,), {}),
}


@pytest.mark.parametrize("make", SEALED.values(), ids=SEALED)
def test_what_is_sealed_cannot_be_made(make: Callable[[], Any]) -> None:
    with pytest.raises(TypeError):
        make()


untyped_at: Any = at
untyped_virtual: Any = Virtual
WRONGLY_PUT_TOGETHER: dict[str, tuple[Callable[[], Any], str]] = {
    "backoff at N0": (lambda: untyped_at(N0).backoff(), "no wait is left at N0"),
    "wait at N0": (lambda: untyped_at(N1).wait().wait(), "no wait is left at N0"),
    "skip at N0": (lambda: untyped_at(N0).skip(), "no wait is left at N0"),
    "a join upwards": (
        lambda: untyped_at(N1).do(say) >> at(N3).retry(say),
        "ends at N1 cannot continue with one that starts at N3",
    ),
    "an alternative upwards": (
        lambda: untyped_at(N3).do(say).backoff() | at(N3).retry(say),
        "ends at N2 cannot continue with one that starts at N3",
    ),
    "a join with a command": (lambda: untyped_at(N1) >> say, r">> continues with a program"),
    "an alternative of a command": (lambda: untyped_at(N1) | say, r"\| continues with a program"),
    "a retry in a retry": (
        lambda: untyped_at(N3).retry(at(N3).retry(say)),
        "its retries would multiply",
    ),
    "a program as an effect": (lambda: untyped_at(N3).do(at(N3)), "its retries would multiply"),
    "a program in an attempt": (lambda: untyped.do(at(N3).retry(say)), "would multiply"),
    "an attempt's function": (lambda: untyped_at(N1).do(asking), "call it first"),
    "a command's class": (lambda: untyped_at(N1).do(Ask), "call it first"),
    "a generator": (lambda: untyped_at(N1).do(generator()), "can run only once"),
    "a number": (lambda: untyped_at(N1).do(5), "5 is not a command or an attempt"),
    "a string": (lambda: untyped_at(N1).do("a"), "'a' is not a command or an attempt"),
    "a list": (lambda: untyped_at(N1).do([say]), "is not a command or an attempt"),
    "a plan of no program": (lambda: untyped.plan(do(say)), "give a program"),
    "a script of no kind": (lambda: untyped_virtual(answers(1)), "Kind.handled_by"),
    "then without a function": (lambda: untyped_at(N1).then(say), "is not a function"),
    "on that chooses nothing": (
        lambda: untyped_at(N1).retry(say, on=3),
        "on=3 chooses no failures",
    ),
    "on cancellation": (
        lambda: untyped_at(N1).retry(say, on=KeyboardInterrupt),
        "chooses no failures",
    ),
    "on an empty tuple": (lambda: untyped_at(N1).retry(say, on=()), "chooses no failures"),
    "an attempt of no function": (lambda: untyped.attempt(3), "give a generator function"),
    "an attempt of a coroutine function": (lambda: untyped.attempt(coroutine), "coroutine"),
    "an attempt of a partial one": (lambda: untyped.attempt(partial(coroutine)), "coroutine"),
    "a handler that is none": (lambda: untyped.Log.handled_by(3), "give a function"),
    "a coroutine function as a handler": (
        lambda: untyped.Log.handled_by(coroutine),
        r"write Log.awaited_by\(coroutine\)",
    ),
    "an awaited handler that is none": (lambda: untyped.Log.awaited_by(3), "coroutine function"),
    "a call of no function": (lambda: untyped.call(3), "give a function"),
    "an interpreter joined with a function": (lambda: log_only | print, "unsupported operand"),
}


@pytest.mark.parametrize(
    ("make", "message"), WRONGLY_PUT_TOGETHER.values(), ids=WRONGLY_PUT_TOGETHER
)
def test_what_is_wrongly_put_together_is_refused_there(
    make: Callable[[], Any], message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        make()


WRONGLY_RUN: dict[str, tuple[Any, Any, str]] = {
    "an open program": (at(N3).do(say), log_only, "it ends at N3: end it with .end"),
    "no interpreter": (at(N0).do(say), 5, "is not an Interpreter: make one with"),
    "a function": (at(N0).do(say), print, "is not an Interpreter: call it first"),
    "a virtual world": (at(N0).do(say), Virtual(log_only), "give its .interpreter"),
    "no handler": (at(N0).do(Ask("a")), log_only, r"interpreter \| Ask.handled_by"),
    "no handler of waits": (at(N1).retry(Ask("a")), asked, "No handler for Delay"),
    "a coroutine as an answer": (
        at(N0).do(Ask("a")),
        Ask.handled_by(lambda command: coroutine(command)),  # type: ignore[arg-type, return-value]
        r"answered a coroutine: join it as Ask.awaited_by",
    ),
    "a coroutine function as a function": (
        at(N0).do(call(coroutine, Log("a"))),
        live(),
        r"answered a coroutine: write call_async\(...\), and .*live_async\(\)",
    ),
    "no generator": (at(N0).do(attempt(no_generator)()), asked, "no_generator is not a generator"),
    "a bind to no program": (at(N0).bind(lambda _: say), asked, "use .then"),  # type: ignore[arg-type, return-value]
    "a bind upwards": (
        at(N0).bind(lambda _: at(N3).retry(say)),  # type: ignore[arg-type, return-value]
        asked,
        "ends at N0 cannot continue with one that starts at N3",
    ),
    "a bind to an open program": (
        at(N1).bind(lambda _: at(N1).do(Ask("a"))),
        asked,
        "ended at N1, not at N0",
    ),
    "then to a program": (at(N0).then(lambda _: at(N0)), asked, "use .bind|would multiply"),  # type: ignore[arg-type, return-value]
}


@pytest.mark.parametrize(
    ("program", "interpreter", "message"), WRONGLY_RUN.values(), ids=WRONGLY_RUN
)
def test_what_is_wrongly_run_is_refused(program: Any, interpreter: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        program.run(interpreter)


def test_a_missing_handler_of_waits_is_missed_before_anything_is_done() -> None:
    def never(command: Ask) -> int:
        pytest.fail(f"{command} was issued")

    watching: Any = Ask.handled_by(never)
    with pytest.raises(TypeError, match="No handler for Delay"):
        at(N1).retry(Ask("a")).run(watching)


def test_awaited_handlers_need_an_async_run() -> None:
    awaited: Any = Ask.awaited_by(coroutine)
    with pytest.raises(TypeError, match="with run_async"):
        at(N0).do(Ask("a")).run(awaited)


def test_a_coroutine_as_an_answer_is_refused_in_an_async_run_too() -> None:
    answering: Any = Ask.handled_by(lambda command: coroutine(command))  # type: ignore[arg-type, return-value]
    with pytest.raises(TypeError, match="answered a coroutine"):
        asyncio.run(at(N0).do(Ask("a")).run_async(answering))


YIELDED: dict[str, tuple[Any, str]] = {"a number": (5, "yielded a int"), "nothing": (None, "None")}


@pytest.mark.parametrize(("what", "message"), YIELDED.values(), ids=YIELDED)
def test_an_attempt_that_yields_no_command_is_told_so(what: Any, message: str) -> None:
    @attempt
    def careless() -> Any:
        yield what
        yield what

    with pytest.raises(TypeError, match=message):
        at(N0).do(careless()).run(asked)


def test_a_program_with_waits_cannot_run_inside_another() -> None:
    inner = at(N1).retry(Ask("a"))
    world = Virtual(asked)
    nested = call(lambda: inner.run(world.interpreter))
    calling = Virtual(Call[Any].handled_by(lambda command: command()))
    with pytest.raises(TypeError, match="their retries would multiply"):
        at(N1).retry(nested).run(calling.interpreter)
    assert at(N0).do(nested).run(calling.interpreter) == 1
    assert inner.run(world.interpreter) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"base": -1.0}, "base=-1.0"),
        ({"base": 0.0}, "base=0.0"),
        ({"base": float("nan")}, "base=nan"),
        ({"base": float("inf")}, "base=inf"),
        ({"base": "1"}, "base='1'"),
        ({"factor": 0.5}, "factor=0.5: give 1 or more"),
        ({"factor": float("nan")}, "factor=nan"),
        ({"cap": 0.5}, "cap=0.5: give at least the base"),
        ({"factor": 1e300}, "would be infinite"),
    ],
)
def test_a_schedule_that_cannot_be_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Exponential(**arguments)


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf"), "1", None])
def test_a_schedule_that_gives_no_seconds_is_told_so(seconds: Any) -> None:
    world = Virtual(Ask.handled_by(always(NotReady())))
    with pytest.raises(ValueError, match="has to give a finite number of seconds"):
        at(N1).retry(Ask("a")).run(world.interpreter, schedule=Computed(lambda k: seconds))


def test_a_schedule_that_is_none_is_refused_before_anything_is_done() -> None:
    program: Any = at(N1).retry(Ask("a"))
    world = Virtual(Ask.handled_by(answers()))
    with pytest.raises(TypeError, match="schedule=5 is not a Schedule"):
        program.run(world.interpreter, schedule=5)


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf"), "5"])
def test_a_failure_asks_for_a_finite_time(seconds: Any) -> None:
    for kind in (Throttled, lambda after: ServerError(503, after)):
        with pytest.raises(ValueError, match="give seconds, 0 or more, or None"):
            kind(seconds)


class Asking(Transient):
    """A failure that sets how long to wait without calling `Transient`."""

    def __init__(self, retry_after: Any) -> None:
        self.retry_after = retry_after


@pytest.mark.parametrize("nonsense", ["soon", "120", float("inf"), float("nan"), -1, [1]])
def test_a_nonsensical_retry_after_of_ones_own_ends_the_program_without_a_further_try(
    nonsense: Any,
) -> None:
    world = Virtual(Ask.handled_by(always(Asking(nonsense))))
    recovering = at(N2).do(Ask("a")).backoff().or_else(Ask("b"), on=Exception).skip()
    with pytest.raises(ValueError, match="retry_after"):
        recovering.run(world.interpreter)
    assert world.commands == [Ask("a")]

    calls: list[int] = []

    def busy() -> None:
        calls.append(1)
        raise Asking(nonsense)

    with pytest.raises(ValueError, match="retry_after"):
        backoff(N3)(busy)()
    assert calls == [1]


async def always_yes(_: object) -> bool:
    return True


def generated(_: object) -> Any:
    yield True


@pytest.mark.parametrize("chosen", [always_yes, generated])
def test_what_is_true_whatever_it_says_is_no_predicate(chosen: Any) -> None:
    for made in (
        lambda: at(N1).retry(Ask("a"), on=chosen),
        lambda: backoff(N1, on=chosen),
        lambda: do(Ask("a")).expect(chosen),
        lambda: do(Ask("a")).or_else(Ask("b"), on=chosen),
    ):
        with pytest.raises(Misuse, match="is not a predicate"):
            made()


@pytest.mark.parametrize("on", [StopIteration, (ValueError, StopAsyncIteration)])
def test_what_ends_generators_cannot_be_chosen(on: Any) -> None:
    with pytest.raises(TypeError, match="chooses no failures"):
        at(N1).retry(Ask("a"), on=on)


def test_a_stop_iteration_of_a_function_is_what_it_is_of_a_handler() -> None:
    def stops() -> None:
        raise StopIteration("no more")

    for made in backoff(N0), backoff(N0, within=5):
        with pytest.raises(RuntimeError, match="no more") as caught:
            made(stops)()
        assert caught.value.__notes__ == ["ixbackoff: tries: 1, waits: 0, 0 s in all"]


@pytest.mark.parametrize("one", [Ask("a"), do(Ask("a")), None])
def test_alternatives_are_a_list(one: Any) -> None:
    with pytest.raises(Misuse, match="give a list of commands and attempts"):
        untyped.first_of(one)


@pytest.mark.parametrize("none", [None, 5, Ask])
def test_what_is_done_at_once_is_effects_or_a_list_of_them(none: Any) -> None:
    with pytest.raises(Misuse, match="give a list of commands and attempts"):
        untyped.all_of(none)


def test_a_place_is_a_whole_number() -> None:
    untyped: Any = first_of
    with pytest.raises(ValueError, match="give an index from 0 to 1"):
        untyped([Ask("a"), Ask("b")], start=1.0)


class Callable1:
    def __call__(self) -> Any:
        yield 1


class Inherited(Callable1):
    pass


def test_generators_are_refused_also_where_they_are_inherited() -> None:
    with pytest.raises(TypeError, match="generator function"):
        backoff(N2)(Inherited())


def test_a_backoff_does_not_change() -> None:
    made: Any = backoff(N3, within=5, on=ValueError)
    with pytest.raises(AttributeError, match="make another one"):
        made._settings = made._settings
    assert repr(made) == "backoff(N3, on=<class 'ValueError'>, within=5)"
    assert repr(backoff(N2)) == "backoff(N2)"


def test_there_are_no_kinds_of_waits() -> None:
    with pytest.raises(Misuse, match="Delay cannot be subclassed"):
        type("Nap", (Delay,), {})
