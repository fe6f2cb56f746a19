"""Two states are one only if they are equal, and no number is taken for another."""

from __future__ import annotations

import multiprocessing
import sys
import threading
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum, IntFlag
from fractions import Fraction
from functools import partial
from itertools import count
from math import nan
from pathlib import Path, PurePath
from random import Random
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import Log, Misuse, NotReady, ServerError, call
from ixbackoff.testing.exploring import Persistent
from ixbackoff.testing.exploring.states import Places, frozen, state_of

atoms = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.0, 1.0, -1.0, -2.0, 2**61 - 1, 2**61, -(2**61)])
    | st.sampled_from(["", "a", "b", b"", b"a"])
)
values = st.recursive(
    atoms,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=6,
)


def typed(value: Any) -> Any:
    """A value with the classes of all that is in it, since 1 == True == 1.0."""
    if isinstance(value, dict):
        return {key: typed(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [type(value), *map(typed, value)]
    return (type(value), value)


@given(values, values)
def test_frozen_values_are_equal_if_the_values_are(one: Any, other: Any) -> None:
    same = typed(one) == typed(other)
    assert (frozen(one) == frozen(other)) == same
    assert (state_of(one, "") == state_of(other, "")) == same


class Color(Enum):
    RED = 1
    BLUE = 2


class Rights(IntFlag):
    READ = 1


class Point(NamedTuple):
    x: int


@dataclass
class Part:
    name: str
    seen: list[str] = field(default_factory=list, compare=False)


class Plain:
    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


class Derived(Plain):
    pass


class Listed(list[str]):
    def __init__(self, text: str, **fields: Any) -> None:
        super().__init__(text)
        self.__dict__.update(fields)


class Slotted:
    __slots__ = ("x",)

    def __init__(self, x: int) -> None:
        self.x = x


def module_function() -> None: ...


def inner(number: int) -> Any:
    return lambda: number


class Token:
    """Each one is another key, and another member of a set."""

    number = 0


def caused(cause: Exception) -> Exception:
    failure = NotReady("a")
    failure.__cause__ = cause
    return failure


def drawn(seed: int) -> Random:
    return Random(seed)  # noqa: S311


DIFFERENT: list[tuple[Any, Any, Any]] = [
    (Color.RED, Color.RED, Color.BLUE),
    (Point(1), Point(1), Point(2)),
    (Point(1), Point(1), (1,)),
    (Part("a", ["x"]), Part("a", ["x"]), Part("a", ["y"])),
    (OrderedDict(a=1, b=2), OrderedDict(a=1, b=2), OrderedDict(b=2, a=1)),
    ([].append, [].append, [1].append),
    (Listed("a"), Listed("a"), Listed("a", x=1)),
    (Plain(x=1), Plain(x=1), Plain(x=2)),
    (Derived(x=1), Derived(x=1), Plain(x=1)),
    (Slotted(1), Slotted(1), Slotted(2)),
    ({1, 2}, {2, 1}, {1, 3}),
    (frozenset("a"), frozenset("a"), {"a"}),
    (deque([1]), deque([1]), deque([2])),
    (Counter("aab"), Counter("aba"), Counter("ab")),
    (OrderedDict(a=1), OrderedDict(a=1), OrderedDict(a=2)),
    (Decimal("1.5"), Decimal("1.5"), Decimal("1.6")),
    (Fraction(1, 2), Fraction(1, 2), Fraction(1, 3)),
    (PurePath("a"), PurePath("a"), PurePath("b")),
    (drawn(1), drawn(1), drawn(2)),
    (nan, nan, 0.0),
    (NotReady("a"), NotReady("a"), NotReady("b")),
    (ServerError(503), ServerError(503), ServerError(500)),
    (Log("a"), Log("a"), Log("b")),
    (call(len, "a"), call(len, "a"), call(len, "b")),
    (module_function, module_function, drawn),
    (inner(1), inner(1), inner(2)),
    (Persistent([1]), Persistent([1]), Persistent([2])),
    (Plain(x=1).__init__, Plain(x=1).__init__, Plain(x=2).__init__),  # type: ignore[misc]
    (int, int, str),
    (1j, 1j, 2j),
    (Rights(8), Rights(8), Rights(16)),
    ({Token(), Token()}, {Token(), Token()}, {Token()}),
    ({Token(): 1, Token(): 1}, {Token(): 1, Token(): 1}, {Token(): 1}),
    (defaultdict(int), defaultdict(int), defaultdict(None)),
    (count(1), count(1), count(2)),
    (defaultdict(count(1).__next__), defaultdict(count(1).__next__), defaultdict(count().__next__)),
    (OSError(2, "no", "a"), OSError(2, "no", "a"), OSError(2, "no", "b")),
    (caused(KeyError("a")), caused(KeyError("a")), caused(KeyError("b"))),
]


@pytest.mark.parametrize(("one", "same", "other"), DIFFERENT)
def test_values_of_every_kind_are_compared(one: Any, same: Any, other: Any) -> None:
    assert state_of(one, "") == state_of(same, "")
    assert state_of(one, "") != state_of(other, "")


@pytest.mark.parametrize("value", [threading.Lock(), (number for number in "a"), memoryview(b"a")])
def test_what_has_no_state_that_can_be_seen_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="the world: cannot"):
        state_of([value], "the world")


@pytest.mark.parametrize(
    ("mode", "buffering"), [("r", -1), ("rb", -1), ("wb", -1), ("r+b", -1), ("rb", 0)]
)
def test_an_open_file_is_refused(mode: str, buffering: int, tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    with (tmp_path / "a").open(mode, buffering) as file, pytest.raises(TypeError, match="cannot"):
        state_of([file], "the world")


def test_a_standard_stream_is_no_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "a").open("w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        assert state_of([partial(print, file=sys.stderr)], "a handler")


class Secret:
    def __getstate__(self) -> object:
        raise RuntimeError("it is secret")


@pytest.mark.parametrize("value", [multiprocessing.Lock(), Secret()])
def test_a_state_that_fails_is_refused(value: Any) -> None:
    with pytest.raises(Misuse, match=r"the world: (Lock objects|it is secret)"):
        state_of([value], "the world")


def in_order(*keys: str) -> list[Any]:
    """Lists by their keys, and then the one that came first, by another name."""
    lists: dict[str, list[int]] = {key: [] for key in keys}
    return [lists, lists[keys[0]]]


class Row(list[int]):
    __slots__ = ()


def test_two_names_of_a_list_of_a_class_of_its_own_are_seen() -> None:
    row, places = Row(), Places()
    state_of([row, row], "", places)
    assert places.repeats


def test_it_is_seen_which_of_two_objects_has_another_name() -> None:
    one, other = Places(), Places()
    one.repeats = other.repeats = True
    assert state_of(in_order("a", "b"), "", one) != state_of(in_order("b", "a"), "", other)


def test_what_refers_to_itself_is_refused() -> None:
    one: list[Any] = []
    one.append(one)
    with pytest.raises(TypeError, match="the world: it refers to itself"):
        state_of(one, "the world")
