"""`on`: a class, a predicate, or a list or tuple of either."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ixbackoff import (
    N3,
    Constant,
    Misuse,
    NotReady,
    ServerError,
    Transient,
    at,
    backoff,
    is_transient,
    known,
)
from ixbackoff._words.judging import ADDED, forget
from ixbackoff.testing import Virtual, answers

from ..support.ways.programs import Ask


def says_again(failure: Exception) -> bool:
    return "again" in str(failure)


CHOICES: dict[str, Any] = {
    "a class": ServerError,
    "a list of one": [ServerError],
    "a tuple": (ServerError, KeyError),
    "a list": [KeyError, ServerError],
    "a predicate": lambda failure: isinstance(failure, ServerError),
    "a list of a predicate": [lambda failure: isinstance(failure, ServerError)],
    "a class and a predicate": [ServerError, says_again],
    "a predicate and a class": (says_again, ServerError),
    "two predicates": [says_again, lambda failure: isinstance(failure, ServerError)],
}
WAYS: dict[str, Callable[[Any], Any]] = {
    "retry": lambda on: at(N3).retry(Ask("a"), on=on),
    "resume": lambda on: at(N3).resume(Ask("a"), on=on),
    "backoff": lambda on: at(N3).do(Ask("a")).backoff(on).or_else(Ask("a"), on=Exception).end(),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("on", CHOICES.values(), ids=CHOICES)
def test_what_is_chosen_is_tried_again_and_nothing_else(on: Any, way: Any) -> None:
    world = Virtual(Ask.handled_by(answers(ServerError(503), 7)))
    assert way(on).run(world.interpreter) == 7
    assert world.waits == [1]
    other = Virtual(Ask.handled_by(answers(LookupError("not this"), 7)))
    if way is WAYS["backoff"]:
        assert way(on).run(other.interpreter) == 7
    else:
        with pytest.raises(LookupError):
            way(on).run(other.interpreter)
    assert other.waits == []


@pytest.mark.parametrize("on", CHOICES.values(), ids=CHOICES)
def test_a_decorated_function_chooses_in_the_same_way(
    on: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr("time.sleep", waits.append)
    failures: list[Exception] = [ServerError(503)]

    @backoff(N3, on=on)
    def page() -> int:
        if failures:
            raise failures.pop()
        return 7

    assert page() == 7
    assert waits == [1]
    failures.append(LookupError("not this"))
    with pytest.raises(LookupError):
        page()


def test_a_misuse_is_never_chosen() -> None:
    choices: list[Any] = [[Exception], [Misuse, says_again], lambda failure: True]
    for on in choices:
        world = Virtual(Ask.handled_by(answers(Misuse("again"), 7)))
        with pytest.raises(Misuse):
            at(N3).retry(Ask("a"), on=on).run(world.interpreter)


@pytest.mark.parametrize("on", [[], (), [3], [NotReady, 3], [KeyboardInterrupt], ["NotReady"], {}])
def test_anything_else_is_refused(on: Any) -> None:
    with pytest.raises(TypeError, match="chooses no failures: give an Exception class, a function"):
        at(N3).retry(Ask("a"), on=on)
    with pytest.raises(TypeError, match="chooses no failures"):
        backoff(N3, on=on)


@pytest.fixture
def all_pass() -> Iterator[None]:
    """Let all exceptions pass by themselves, as far as anybody can say so."""
    known.register(Exception, lambda _: known.Verdict(True))
    yield
    del ADDED[Exception]
    forget()


@pytest.mark.usefixtures("all_pass")
def test_a_misuse_does_not_pass_whatever_is_known_of_its_bases() -> None:
    calls: list[type] = []

    def fail(kind: type[Exception]) -> None:
        calls.append(kind)
        raise kind

    for kind, tries in ((Misuse, 1), (TypeError, 4)):
        with pytest.raises(kind):
            backoff(N3, schedule=Constant(0)).call(fail, kind)
        assert calls.count(kind) == tries
    with pytest.raises(Misuse, match="a mistake in a program never passes"):
        known.register(Misuse, lambda _: known.Verdict(True))


def test_an_exception_of_no_module_is_unknown() -> None:
    homeless = type("Homeless", (Exception,), {"__module__": None})
    assert not is_transient(homeless())


class Full(Transient):
    """A failure of the user's own that may pass."""


@pytest.fixture
def asks_for_a_minute() -> Iterator[None]:
    known.register(Full, lambda _: known.Verdict(True, retry_after=60))
    yield
    del ADDED[Full]
    forget()


@pytest.mark.usefixtures("asks_for_a_minute")
@pytest.mark.parametrize("on", [None, Full, Transient])
def test_the_time_of_a_registered_judge_is_waited_for(on: Any) -> None:
    world = Virtual(Ask.handled_by(answers(Full(), Full(), 1)))
    options = {} if on is None else {"on": on}
    assert at(N3).retry(Ask("a"), **options).run(world.interpreter) == 1
    assert world.now == 120
