"""Running: failures, waits, and references that are left behind."""

from __future__ import annotations

import asyncio
import gc
import pickle
import sys
import weakref
from collections.abc import Callable
from contextlib import suppress
from types import ModuleType
from typing import Any

import pytest

from ixbackoff import (
    N0,
    N1,
    N2,
    N3,
    N5,
    Call,
    Command,
    Delay,
    Do,
    Interpreter,
    Log,
    Misuse,
    NotReady,
    ServerError,
    Throttled,
    Throw,
    at,
    attempt,
    call,
    do,
    unroll,
)
from ixbackoff.schedules import Computed
from ixbackoff.testing import Virtual, VirtualAsync, always, answers, waited

from ..support.ways.programs import Ask, calling


def test_the_last_failure_itself_is_raised_with_a_note() -> None:
    last = Throttled(5)
    world = Virtual(Ask.handled_by(answers(NotReady(), NotReady(), last)))
    with pytest.raises(Throttled) as raised:
        at(N2).retry(Ask("a")).run(world.interpreter)
    assert raised.value is last
    assert last.__notes__ == ["ixbackoff: tries: 3, waits: 2, 3 s in all"]


def test_what_is_not_worth_another_try_is_raised_at_once() -> None:
    world = Virtual(Ask.handled_by(answers(KeyError("bug"))))
    with pytest.raises(KeyError):
        at(N3).retry(Ask("a")).run(world.interpreter)
    assert world.waits == []


def test_a_retry_after_lengthens_this_wait_and_those_that_follow() -> None:
    world = Virtual(Ask.handled_by(answers(Throttled(3), NotReady(), ServerError(503, 0.5), 1)))
    at(N3).retry(Ask("a")).run(world.interpreter)
    assert world.waits == [3, 3, 4]


def test_on_may_be_a_class_a_tuple_or_a_predicate() -> None:
    for on in (KeyError, (KeyError, ValueError), lambda failure: "x" in str(failure)):
        world = Virtual(Ask.handled_by(answers(KeyError("x"), 1)))
        assert at(N1).retry(Ask("a"), on=on).run(world.interpreter) == 1


def test_a_predicate_that_raises_ends_the_retries_with_its_error() -> None:
    def broken(failure: Exception) -> bool:
        raise ZeroDivisionError

    world = Virtual(Ask.handled_by(answers(NotReady())))
    with pytest.raises(ZeroDivisionError):
        at(N3).retry(Ask("a"), on=broken).run(world.interpreter)
    assert world.waits == []


def test_one_program_runs_many_times_and_at_once() -> None:
    program = at(N2).retry(do(Ask("a")).then(lambda value: call(pow, value, 2)))

    async def main() -> list[int]:
        worlds = [Virtual(calling | Ask.handled_by(answers(NotReady(), n))) for n in range(100)]
        return await asyncio.gather(*(program.run_async(world.interpreter) for world in worlds))

    assert asyncio.run(main()) == [n**2 for n in range(100)]


def test_handlers_that_are_awaited_run_in_virtual_time_too() -> None:
    async def answer(command: Ask) -> int:
        await asyncio.sleep(0)
        return next(numbers)

    numbers = iter([3])
    world = VirtualAsync(Ask.awaited_by(answer) | Log.handled_by(always(None)))
    program = at(N1).do(Log("now")).do(Ask("a")).wait()
    assert asyncio.run(program.run_async(world.interpreter)) == 3
    world.expect(Log("now"), Ask("a"), waited(1))
    assert world.now == 1


@pytest.mark.parametrize("fails", [True, False])
def test_a_run_leaves_nothing_for_the_collector(fails: bool) -> None:
    @attempt
    def catching() -> Do[Ask, int]:
        try:
            yield from Ask("a")
        except ServerError:
            yield from Ask("b")
        return (yield from Ask("c"))

    def answer(command: Ask) -> int:
        if command.name == "a":
            raise ServerError(500)
        if command.name == "c" and fails:
            raise NotReady
        return 0

    interpreter: Interpreter[Any] = Ask.handled_by(answer) | Delay.handled_by(lambda command: None)
    programs: list[Any] = [
        at(N2).retry(catching()),
        at(N2).resume(catching()),
        at(N1).do(Ask("a")).backoff().or_else(Ask("c")),
    ]
    gc.collect()
    gc.freeze()  # so that it has only what is made here to look at
    gc.disable()
    try:
        for program in programs:
            with suppress(NotReady):
                program.run(interpreter)
            assert gc.collect() == 0
    finally:
        gc.enable()


def test_a_note_is_of_the_last_run_only() -> None:
    kept = NotReady()
    for _ in range(2):
        with pytest.raises(NotReady):
            at(N1).retry(Ask("a")).run(Virtual(Ask.handled_by(always(kept))).interpreter)
    assert kept.__notes__ == ["ixbackoff: tries: 2, waits: 1, 1 s in all"]


def test_failures_can_be_pickled() -> None:
    for failure in (Throttled(2.5), ServerError(503, 1.0), NotReady("later", retry_after=3)):
        copy = pickle.loads(pickle.dumps(failure))  # noqa: S301
        assert (str(copy), copy.retry_after) == (str(failure), failure.retry_after)


class Once(Command[int]):
    __slots__ = ()


@pytest.mark.parametrize(
    "chains", ["then", "bind", "right then", "right bind", "do-notation", ">>"]
)
def test_depth_costs_no_recursion(chains: str) -> None:
    depth = 50 * sys.getrecursionlimit()
    once = Once()
    program: Any = at(N0).do(once)

    def right(left: int) -> Any:
        return lambda _: once if left == 0 else do(once).then(right(left - 1)).map(lambda n: n)

    def right_bound(left: int) -> Any:
        return lambda _: (
            at(N0).do(once) if left == 0 else at(N0).do(once).bind(right_bound(left - 1))
        )

    @attempt
    def nested(left: int) -> Do[Once, int]:
        if left == 0:
            return (yield from once)
        return (yield from nested(left - 1))

    if chains == "then":
        for _ in range(depth):
            program = program.then(lambda _: once)
    elif chains == "bind":
        for _ in range(depth):
            program = program.bind(lambda _: at(N0).do(once))
    elif chains == ">>":
        for _ in range(depth):
            program = at(N0).do(once) >> program
    elif chains == "do-notation":
        program = program.do(nested(depth))
    else:
        program = (
            program.then(right(depth))
            if chains == "right then"
            else program.bind(right_bound(depth))
        )
    assert program.run(Once.handled_by(lambda command: 1)) == 1


def test_no_step_recovers_from_a_program_that_is_wrongly_put_together() -> None:
    upwards: Any = lambda _: at(N3).retry(Ask("a"))  # noqa: E731
    program: Any = at(N2).do(Ask("a")).bind(upwards).end().or_else(Ask("b"), on=Exception)
    world = Virtual(Ask.handled_by(answers(1)))
    with pytest.raises(Misuse, match="ends at N2 cannot continue with one that starts at N3"):
        program.run(world.interpreter)
    world.expect(Ask("a"))


def test_after_a_bind_that_is_passed_over_nothing_goes_up_by_a_single_rung_either() -> None:
    upwards: Any = lambda _: at(N2).retry(Ask("b"))  # noqa: E731
    program: Any = at(N1).do(Ask("a")).bind(lambda _: at(N1).end()).or_bind(upwards)
    world = Virtual(Ask.handled_by(always(NotReady())))
    with pytest.raises(Misuse, match="ends at N1 cannot continue with one that starts at N2"):
        program.run(world.interpreter)
    world.expect(Ask("a"))


def test_a_stream_of_waits_cannot_run_inside_an_attempt() -> None:
    inner = at(N2).retry(Ask("a"))

    @attempt
    def sly() -> Do[Any, Any]:
        return (yield from unroll(inner))

    world = Virtual(Ask.handled_by(always(NotReady())))
    with pytest.raises(Misuse, match="retries would multiply"):
        at(N2).retry(sly()).run(world.interpreter)
    world.expect()


def a_kept_wait() -> tuple[list[Delay], Any]:
    """Make a list of a run's waits, and the interpreter that fills it."""
    kept: list[Delay] = []
    interpreter: Any = Ask.handled_by(always(NotReady())) | Delay.handled_by(kept.append)
    with pytest.raises(NotReady):
        at(N1).retry(Ask("a")).run(interpreter)
    return kept, interpreter


def test_a_wait_cannot_be_kept_and_issued_again() -> None:
    kept, interpreter = a_kept_wait()

    @attempt
    def sly() -> Do[Delay, None]:
        yield from kept[0]

    with pytest.raises(Misuse, match="An attempt cannot wait"):
        at(N1).retry(sly()).run(interpreter)
    with pytest.raises(Misuse, match="Only the ladder waits"):
        at(N1).do(kept[0])


@pytest.mark.parametrize("name", ["start", "end", "waits", "run", "new"])
def test_a_program_is_not_changed_in_place(name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(at(N2).retry(Ask("a")), name, 30)


def test_throw_is_a_command_that_a_test_sees() -> None:
    error = ValueError("no")
    world = Virtual(Ask.handled_by(answers()))
    with pytest.raises(ValueError, match="no"):
        at(N1).do(Throw(error)).or_else(Ask("never")).backoff().run(world.interpreter)
    assert [performed.failure for performed in world.trace] == [error]


def test_a_note_counts_each_attempt_of_a_program() -> None:
    @attempt
    def one() -> Do[Ask, int]:
        yield from Ask("a")
        return (yield from Ask("b"))

    world = Virtual(Ask.handled_by(answers(1, 2, 3, 4, 5, NotReady())))
    program = at(N1).do(one()).do(one()).do(Ask("c")).do(Ask("d")).end()
    with pytest.raises(NotReady) as raised:
        program.run(world.interpreter)
    assert raised.value.__notes__ == ["ixbackoff: tries: 4, waits: 0, 0 s in all"]


class Full(Exception):
    """A failure that takes no note."""

    __notes__: Any = ("full",)


def test_an_exception_that_takes_no_note_is_raised_itself() -> None:
    last = Full()
    with pytest.raises(Full) as raised:
        at(N0).do(Ask("a")).run(Ask.handled_by(always(last)))
    assert raised.value is last


SCHEDULES: dict[str, Any] = {
    "no seconds": (Computed(lambda k: -1), ValueError),
    "an error": (Computed(lambda k: [0.0][k + 1]), IndexError),
}


@pytest.mark.parametrize(("schedule", "error"), SCHEDULES.values(), ids=SCHEDULES)
def test_without_a_wait_nothing_is_tried_again(schedule: Any, error: Any) -> None:
    world = Virtual(Ask.handled_by(answers(NotReady())))
    with pytest.raises(error):
        at(N3).retry(Ask("a"), on=Exception).run(world.interpreter, schedule=schedule)


def test_after_a_wait_that_failed_nothing_is_tried_again() -> None:
    def broken(command: Delay) -> None:
        raise ConnectionError("clock")

    world = Virtual(Ask.handled_by(answers(NotReady())) | Delay.handled_by(broken))
    with pytest.raises(ConnectionError) as raised:
        at(N3).retry(Ask("a"), on=Exception).run(world.interpreter)
    assert raised.value.__notes__ == ["ixbackoff: tries: 1, waits: 0, 0 s in all"]


def test_a_kept_wait_is_not_issued_by_a_bare_yield_either() -> None:
    kept, interpreter = a_kept_wait()

    @attempt
    def sly() -> Do[Delay, None]:
        yield kept[0]

    with pytest.raises(Misuse, match="An attempt cannot wait"):
        at(N1).retry(sly(), on=Exception).run(interpreter)
    with pytest.raises(Misuse, match="An attempt cannot wait"):
        asyncio.run(at(N1).retry(sly(), on=Exception).run_async(interpreter))
    assert len(kept) == 1


def nested_in_a_handler(outer: Any, inner: Any) -> Any:
    asks = Virtual(Ask.handled_by(always(NotReady())))
    handled = Call[Any].handled_by(lambda command: inner.run(asks.interpreter))
    return outer.run(Virtual(handled).interpreter)


@pytest.mark.parametrize("bound", ["inner", "outer", "both"])
def test_a_bind_hides_no_retry_in_a_retry(bound: str) -> None:
    work = call(int)
    inner = at(N3).retry(Ask("a"))
    outer = at(N3).retry(work)
    if bound in ("inner", "both"):
        inner = at(N3).bind(lambda _: at(N3).retry(Ask("a")))
    if bound in ("outer", "both"):
        outer = at(N3).bind(lambda _: at(N3).retry(work))
    with pytest.raises(Misuse, match="retries would multiply"):
        nested_in_a_handler(outer, inner)


def test_what_cannot_wait_may_run_inside() -> None:
    with pytest.raises(NotReady):
        nested_in_a_handler(at(N1).retry(call(int)), at(N0).retry(Ask("a")))


def test_a_task_that_a_handler_began_may_run_programs_when_the_run_is_over() -> None:
    async def main() -> int:
        over = asyncio.Event()

        async def later() -> int:
            await over.wait()
            world = Virtual(Ask.handled_by(answers(NotReady(), 5)))
            return await at(N1).retry(Ask("a")).run_async(world.interpreter)

        tasks: list[asyncio.Task[int]] = []

        def start(command: Ask) -> int:
            tasks.append(asyncio.create_task(later()))
            return 0

        world = Virtual(Ask.handled_by(start))
        await at(N1).retry(Ask("start")).run_async(world.interpreter)
        over.set()
        return await tasks[0]

    assert asyncio.run(main()) == 5


def test_a_bare_yield_at_the_end_is_told_so() -> None:
    @attempt
    def careless() -> Any:
        answer = yield
        return answer

    with pytest.raises(Misuse, match="yielded None"):
        at(N0).do(careless()).run(Ask.handled_by(always(1)))


class Named(Command[int]):
    __slots__ = "name"

    def __init__(self, name: str) -> None:
        self.name = name


class Hidden(Command[int]):
    __slots__ = ("__name",)

    def __init__(self, name: str) -> None:
        self.__name = name


@pytest.mark.parametrize("kind", [Named, Hidden])
def test_commands_are_compared_by_their_slots(kind: Any) -> None:
    assert kind("a") == kind("a")
    assert kind("a") != kind("b")
    assert hash(kind("a")) == hash(kind("a"))


def test_a_predicate_is_asked_once_for_each_further_try() -> None:
    asked: list[Exception] = []

    def only_first(failure: Exception) -> bool:
        asked.append(failure)
        return len(asked) == 1

    world = Virtual(Ask.handled_by(always(NotReady())))
    with pytest.raises(NotReady):
        at(N5).retry(Ask("a"), on=only_first).run(world.interpreter)
    assert (len(asked), world.waits) == (2, [1.0])


def test_a_predicate_that_raises_ends_the_retry() -> None:
    def broken(failure: Exception) -> bool:
        if isinstance(failure, LookupError):
            return True
        raise LookupError("predicate")

    world = Virtual(Ask.handled_by(always(NotReady())))
    with pytest.raises(LookupError, match="predicate"):
        at(N5).retry(Ask("a"), on=broken).run(world.interpreter)
    assert (len(world.commands), world.waits) == (1, [])


BROKEN: list[Callable[[Any], Any]] = [
    lambda on: at(N1).retry(Ask("a"), on=on),
    lambda on: at(N1).resume(Ask("a"), on=on),
    lambda on: at(N1).retry_with(lambda _: Ask("a"), on=on),
    lambda on: at(N1).do(Ask("a")).backoff(on=on),
    lambda on: at(N1).do(Ask("a")).or_bind(lambda _: at(N1).skip(), on=on).at(N0),
]


@pytest.mark.parametrize("broken", BROKEN)
def test_after_a_predicate_that_raises_the_program_has_come_down_and_can_recover(
    broken: Callable[[Any], Any],
) -> None:
    def judge(_: Exception) -> bool:
        raise LookupError("predicate")

    world = Virtual(Ask.handled_by(answers(NotReady(), 7)))
    program = broken(judge).or_else(Ask("other"), on=LookupError)
    assert program.run(world.interpreter) == 7
    world.expect(Ask("a"), Ask("other"))


def test_a_failure_is_let_go_when_it_is_tried_again() -> None:
    kept: list[weakref.ref[Exception]] = []

    def answer(_: Ask) -> int:
        assert not any(one() for one in kept)
        if len(kept) == 2:
            return 7
        failure = NotReady()
        kept.append(weakref.ref(failure))
        try:
            raise failure
        finally:
            del failure

    handlers = Ask.handled_by(answer) | Delay.handled_by(lambda _: None)
    awaited = handlers | Delay.awaited_by(lambda _: asyncio.sleep(0))
    for retry in at(N2).retry(Ask("a")), at(N2).resume(do(Ask("a"))):
        kept.clear()
        assert retry.run(handlers) == 7
        kept.clear()
        assert asyncio.run(retry.run_async(awaited)) == 7


def test_what_ends_a_generator_is_told_as_a_handlers_mistake() -> None:
    def stop(_: Ask) -> int:
        raise StopIteration(3)

    with pytest.raises(RuntimeError, match="A handler raised") as raised:
        at(N0).do(Ask("a")).run(Ask.handled_by(stop))
    assert isinstance(raised.value.__cause__, StopIteration)


@pytest.mark.parametrize("name", ["asyncio", "trio"])
def test_while_another_thread_imports_a_library_of_event_loops(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stands among the modules then, and is empty."""
    monkeypatch.setitem(sys.modules, name, ModuleType(name))
    world = Virtual(Ask.handled_by(always(5)))
    assert at(N3).retry(Ask("a")).run(world.interpreter) == 5
