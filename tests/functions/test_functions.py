"""Functions under `backoff` stay what they were; anything else is refused, and early."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from ixbackoff import (
    N0,
    N1,
    N3,
    Backoff,
    Misuse,
    NotReady,
    Succ,
    answered_by,
    backoff,
    plan,
)
from ixbackoff.schedules import Constant

from ..support.ids import shown
from ..support.ways.functions import calling

untyped: Any = backoff
again = backoff(N3, schedule=Constant(0))
tried: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_tried_before() -> None:
    tried.clear()


def second_time(what: str) -> str:
    """A function that fails the first time."""
    tried.append(what)
    if len(tried) == 1:
        raise NotReady
    return what


class Service:
    """Methods of every kind."""

    def __init__(self, name: str) -> None:
        self.name = name

    @again
    def method(self, what: str, *, loudly: bool = False) -> str:
        """It is documented."""
        return second_time(f"{self.name}: {what}{'!' * loudly}")

    @staticmethod
    @again
    def static(what: str) -> str:
        return second_time(what)

    @classmethod
    @again
    def of_the_class(cls, what: str) -> str:
        return second_time(f"{cls.__name__}: {what}")

    @property
    @again
    def computed(self) -> str:
        return second_time(self.name)

    @functools.cached_property
    @again
    def kept(self) -> str:
        return second_time(self.name)

    @again
    async def coroutine_method(self, what: str) -> str:
        return second_time(f"{self.name}: {what}")

    def __call__(self, what: str) -> str:
        return second_time(what)

    def plain(self, what: str) -> str:
        return second_time(f"plain {self.name}: {what}")


class Waiter:
    """An object that is called and awaited."""

    async def __call__(self, what: str) -> str:
        await asyncio.sleep(0)
        return second_time(what)


async def waiter(what: str) -> str:
    await asyncio.sleep(0)
    return second_time(what)


def every_kind_of_argument(a: str, /, b: str = "b", *c: str, d: str, e: str = "e", **f: str) -> str:
    return second_time("".join([a, b, *c, d, e, *f, *f.values()]))


SYNC: dict[str, tuple[Callable[[], str], str]] = {
    "a method": (lambda: Service("s").method("m", loudly=True), "s: m!"),
    "a method of the class": (lambda: Service.method(Service("s"), what="m"), "s: m"),
    "below staticmethod": (lambda: Service.static("m"), "m"),
    "below staticmethod, of an instance": (lambda: Service("s").static("m"), "m"),
    "below classmethod": (lambda: Service.of_the_class("m"), "Service: m"),
    "below property": (lambda: Service("s").computed, "s"),
    "below cached_property": (lambda: Service("s").kept, "s"),
    "a bound method": (lambda: again(Service("s").plain)("m"), "plain s: m"),
    "a callable object": (lambda: again(Service("s"))("m"), "m"),
    "a partial": (lambda: again(functools.partial(second_time, "m"))(), "m"),
    "a lambda": (lambda: again(lambda what: second_time(what))("m"), "m"),
    "called": (lambda: again.call(second_time, what="m"), "m"),
    "every kind of argument": (
        lambda: again(every_kind_of_argument)("1", "2", "3", "4", d="5", function="6", self="7"),
        "12345efunctionself67",
    ),
    "every kind of argument, called": (
        lambda: again.call(every_kind_of_argument, "1", d="5", function="6", self="7"),
        "1b5efunctionself67",
    ),
}


@pytest.mark.parametrize(("use", "answer"), SYNC.values(), ids=SYNC)
def test_what_is_called_is_tried_again(use: Callable[[], str], answer: str) -> None:
    assert use() == answer
    assert tried == [answer, answer]


ASYNC: dict[str, Callable[[], Any]] = {
    "a coroutine function": lambda: again(waiter)("m"),
    "a coroutine function, called": lambda: again.call(waiter, "m"),
    "a partial": lambda: again(functools.partial(waiter, "m"))(),
    "a partial of a partial": lambda: again(functools.partial(functools.partial(waiter), "m"))(),
    "a callable object": lambda: again(Waiter())("m"),
    "a partial of a callable object": lambda: again(functools.partial(Waiter(), "m"))(),
    "a bound method": lambda: again(Waiter().__call__)("m"),
}


@pytest.mark.parametrize("use", ASYNC.values(), ids=ASYNC)
def test_what_is_awaited_is_tried_again(use: Callable[[], Any]) -> None:
    async def main() -> Any:
        return await use()

    assert asyncio.run(main()) == "m"
    assert tried == ["m", "m"]


def test_a_coroutine_method_is_tried_again() -> None:
    assert asyncio.run(Service("s").coroutine_method("m")) == "s: m"
    assert tried == ["s: m", "s: m"]


def test_what_is_decorated_keeps_its_name_and_signature() -> None:
    method = Service.method
    assert (method.__name__, method.__doc__) == ("method", "It is documented.")
    assert method.__qualname__ == "Service.method"
    assert method.__module__ == __name__
    decorated: Any = again(every_kind_of_argument)
    assert decorated.__wrapped__ is every_kind_of_argument
    assert inspect.signature(decorated) == inspect.signature(every_kind_of_argument)


@pytest.mark.parametrize("of", [waiter, Waiter(), functools.partial(waiter, "m")], ids=shown)
def test_what_is_awaited_is_still_a_coroutine_function(of: Any) -> None:
    assert inspect.iscoroutinefunction(again(of))
    assert not inspect.iscoroutinefunction(again(second_time))


def test_what_makes_an_object_can_be_called() -> None:
    assert again.call(Service, "s").name == "s"


def test_one_backoff_serves_any_number_of_functions() -> None:
    first, second = again(second_time), again(second_time)
    assert first("a") == "a"
    tried.clear()
    assert second("b") == "b"
    assert tried == ["b", "b"]


def test_it_says_what_it_is() -> None:
    assert repr(again) == "backoff(N3, schedule=Constant(every=0.0))"


def test_its_program_can_be_planned_and_run_elsewhere() -> None:
    program = again.program(second_time, what="m")
    assert plan(program).tries == 4
    assert program.run(calling().interpreter) == "m"
    of_a_method = backoff(N1, schedule=Constant(0)).program(Service("s").method, "m")
    tried.clear()
    assert of_a_method.run(calling().interpreter) == "s: m", "its own backoff is replaced"


async def async_generator() -> AsyncIterator[int]:
    yield 1


def generator() -> Iterator[int]:
    yield 1


class Generating:
    def __call__(self) -> Iterator[int]:
        yield 1


def gives_a_coroutine() -> Any:
    return waiter("m")


GENERATORS: dict[str, Any] = {
    "a generator function": generator,
    "an async generator function": async_generator,
    "a partial of one": functools.partial(generator),
    "an object that is one": Generating(),
    "a method that is one": Generating().__call__,
}


@pytest.mark.parametrize("function", GENERATORS.values(), ids=GENERATORS)
def test_generator_functions_are_refused_and_told_why(function: Any) -> None:
    for refuse in (again, again.call, again.program, again.program_async):
        with pytest.raises(TypeError, match="after a failure it would yield the first items again"):
            refuse(function)


NO_FUNCTIONS: dict[str, tuple[Any, str]] = {
    "a class": (Service, "on the class Service: put it on its methods"),
    "nothing": (None, "it is for functions and methods"),
    "a number": (3, "it is for functions and methods"),
    "what a call gave": ("page", "it is for functions and methods"),
    "a staticmethod": (staticmethod(second_time), "write it below @staticmethod"),
    "a classmethod": (classmethod(lambda cls: 1), "write it below @classmethod"),
    "a property": (property(lambda self: 1), "write it below @property"),
}


@pytest.mark.parametrize(("function", "message"), NO_FUNCTIONS.values(), ids=NO_FUNCTIONS)
def test_what_is_no_function_is_refused_where_it_is_decorated(function: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        again(function)


def test_a_function_that_gives_a_coroutine_without_saying_so_is_refused() -> None:
    with pytest.raises(Misuse, match="put backoff on the `async def` itself"):
        again(gives_a_coroutine)()
    with answered_by(calling().interpreter), pytest.raises(Misuse, match="a coroutine"):
        again(gives_a_coroutine)()
    assert tried == []


def test_a_program_of_a_coroutine_function_is_another() -> None:
    with pytest.raises(TypeError, match="use program_async"):
        again.program(waiter, "m")


succ: Any = Succ
WRONGLY_MADE: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "without a rung": (lambda: untyped(second_time), TypeError, "with parentheses"),
    "a number as a rung": (lambda: untyped(3), TypeError, "write N3"),
    "a rung that is none": (lambda: untyped(Succ), TypeError, "use one of N0 to N20"),
    "no rung": (lambda: untyped(None), TypeError, "use one of N0 to N20"),
    "another backoff": (lambda: untyped(again), TypeError, "use one of N0 to N20"),
    "on a number": (lambda: untyped(N1, on=3), TypeError, "on=3 chooses no failures"),
    "on nothing": (lambda: untyped(N1, on=()), TypeError, "chooses no failures"),
    "on cancellation": (
        lambda: untyped(N1, on=asyncio.CancelledError),
        TypeError,
        "chooses no failures",
    ),
    "on an interrupt and more": (
        lambda: untyped(N1, on=(ValueError, KeyboardInterrupt)),
        TypeError,
        "chooses no failures",
    ),
    "a function as a schedule": (
        lambda: untyped(N1, schedule=lambda k: 1.0),
        TypeError,
        "Computed",
    ),
    "a number as a schedule": (lambda: untyped(N1, schedule=2), TypeError, "is not a Schedule"),
    "a class as a schedule": (
        lambda: untyped(N1, schedule=Constant),
        TypeError,
        "is not a Schedule",
    ),
    "a time that is none": (lambda: untyped(N1, within=float("nan")), ValueError, "within=nan"),
    "all the time": (lambda: untyped(N1, within=float("inf")), ValueError, "within=inf"),
    "a time in words": (lambda: untyped(N1, within="5"), ValueError, "within='5'"),
    "a number as an event": (
        lambda: untyped(N1, stop=3),
        TypeError,
        "stop=3: give a threading.Eve",
    ),
    "an event of an event loop": (
        lambda: untyped(N1, stop=asyncio.Event()),
        TypeError,
        r"stop=<asyncio.locks.Event .*: give a threading.Event, or cancel the task",
    ),
    "a number as a budget": (lambda: untyped(N1, budget=3), TypeError, "budget=3 is not a budget"),
    "a Backoff made by itself": (lambda: Backoff(0), TypeError, r"backoff\(\.\.\.\)"),  # type: ignore[arg-type]
    "not an interpreter": (
        lambda: answered_by(5).__enter__(),  # type: ignore[arg-type]
        TypeError,
        "give an interpreter, such as world.interpreter",
    ),
    "a world in place of its interpreter": (
        lambda: answered_by(calling()).__enter__(),  # type: ignore[arg-type]
        TypeError,
        "give an interpreter, such as world.interpreter",
    ),
}


@pytest.mark.parametrize(("make", "error", "message"), WRONGLY_MADE.values(), ids=WRONGLY_MADE)
def test_what_is_wrongly_made_is_refused_where_it_is_made(
    make: Callable[[], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        make()


def test_a_wrong_argument_is_the_functions_own_error_and_not_tried_again() -> None:
    calls: Any = again(second_time)
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        calls(nothing=1)
    assert tried == []


def test_at_n0_it_is_tried_once() -> None:
    with pytest.raises(NotReady):
        backoff(N0)(second_time)("m")
    assert tried == ["m"]
