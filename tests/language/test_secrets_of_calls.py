"""Secrets among the arguments of a call are not shown, and a broken `retry_after` is no failure."""

from __future__ import annotations

import time
from types import MappingProxyType

import pytest

from ixbackoff import N2, Call, NotReady, Transient, at, backoff, call, known
from ixbackoff.schedules import Constant
from ixbackoff.testing import Virtual, always


@pytest.mark.parametrize(
    "argument",
    [
        "postgresql://h/db?password=hush",
        "postgresql://h/db?sslmode=on&PASSWORD=hush&a=1",
        "postgresql://me:hush@h/db",
        "host=h password=hush user=me",
        "host=h password='hu sh hush' user=me",
        "Driver=x;Pwd=hush;Server=h",
        {"Authorization": "Bearer hush"},
        {"headers": {"x-api-key": "hush"}, "a": 1},
        {"token": b"hush"},
        {"password": ["a", "hush"], "b": 1},
        {"credentials": {"a": {"b": 1}, "c": "hush"}},
        {"token": MappingProxyType({"a": "hush"})},
        {"password": """it's "hush\\" hush"""},
    ],
    ids=str,
)
def test_a_secret_in_the_text_of_an_argument_is_not_shown(argument: object) -> None:
    assert "hush" not in repr(call(print, argument))
    assert "..." in repr(call(print, argument))


@pytest.mark.parametrize("name", ["dsn", "pwd", "db_pwd", "authorization", "Password", "cookies"])
def test_nor_one_that_the_name_of_the_argument_tells(name: str) -> None:
    assert repr(call(dict, **{name: "hush"})) == f"call(dict, {name}=...)"


def test_what_is_no_secret_is_shown() -> None:
    assert repr(call(print, "https://h/a?page=2&sort=name", 5)) == (
        "call(print, 'https://h/a?page=2&sort=name', 5)"
    )


def test_a_long_argument_takes_no_long_time() -> None:
    begun = time.process_time()
    for piece in ("pwd", "password ", "://", "a=", "'token': ", "pwd=[", "token='", "\\'"):
        repr(call(print, piece * 20_000))
    assert time.process_time() - begun < 2


class Broken(Transient):
    @property
    def retry_after(self) -> float | None:
        raise KeyError("Retry-After")

    @retry_after.setter
    def retry_after(self, seconds: float | None) -> None:
        pass


def test_a_retry_after_that_raises_does_not_replace_the_failure() -> None:
    world = Virtual(Call.handled_by(always(Broken("busy"))))
    with pytest.raises(Broken, match="busy"):
        at(N2).retry(call(print)).run(world.interpreter)
    assert world.waits == [1.0, 2.0]

    @backoff(N2, schedule=Constant(0), on=(Broken, NotReady))
    def busy() -> None:
        raise Broken("busy")

    with pytest.raises(Broken, match="busy"):
        busy()
    assert known.retry_after(Broken()) is None
