"""Values and failures come back from a journal as they were, or are refused at once."""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
import urllib.error
from collections import OrderedDict, deque
from dataclasses import dataclass
from datetime import UTC
from email.message import Message
from enum import Enum, IntEnum
from fractions import Fraction
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import (
    CircuitOpen,
    ClientError,
    DeadlineExceeded,
    Misuse,
    NotReady,
    ServerError,
    Throttled,
    call,
)
from ixbackoff.durable import Unrecordable, recordable
from ixbackoff.durable.codec import decode, encode
from ixbackoff.durable.command_digests import digest_of

from ..support.ways.programs import Ask


class Colour(Enum):
    RED = 1


class Number(IntEnum):
    ONE = 1


class Point(NamedTuple):
    x: int
    y: int


@dataclass
class Node:
    value: Any
    following: Node | None = None


@dataclass(frozen=True, slots=True)
class Held:
    content: bytes


class Mine(Exception):
    def __init__(self, x: int, *, y: int) -> None:
        super().__init__(f"{x}{y}")
        self.x, self.y = x, y


class Slotted(Exception):
    __slots__ = ("z",)
    z: int


class Mismatch(ConnectionError):
    """An exception whose `__init__` has other parameters than its `args`."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(f"{host}:{port}")
        self.port = port


def round_trip(value: Any) -> Any:
    text = json.dumps(encode(value), ensure_ascii=False)
    text.encode()  # what a database stores
    return decode(json.loads(text))


keys = st.integers() | st.text() | st.tuples(st.integers(), st.text()) | st.none() | st.booleans()
plain = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=()))
    | st.binary()
    | st.dates()
    | st.datetimes(timezones=st.none() | st.sampled_from([UTC, ZoneInfo("Europe/Berlin")]))
    | st.times()
    | st.timedeltas()
    | st.decimals(allow_nan=False)
    | st.uuids()
    | st.complex_numbers(allow_nan=False, allow_infinity=False)
    | st.sampled_from([Colour.RED, Number.ONE, Path("/a/b"), PurePosixPath("x"), Held, int])
    | st.builds(Point, st.integers(), st.integers())
    | st.builds(Held, st.binary())
)
values = st.recursive(
    plain,
    lambda inner: st.one_of(
        st.lists(inner),
        st.lists(inner).map(tuple),
        st.dictionaries(keys, inner),
        st.dictionaries(st.sampled_from(["$", "v", "k"]), inner),
        st.frozensets(st.integers()),
        st.sets(st.text()),
        st.builds(Node, inner, st.none() | st.builds(Node, inner)),
    ),
    max_leaves=10,
)


@given(values)
def test_what_is_recorded_comes_back(value: Any) -> None:
    back = round_trip(value)
    assert back == value
    assert type(back) is type(value)
    assert encode(back) == encode(value)


def test_numbers_that_are_no_json_come_back() -> None:
    inf, nan = round_trip([float("inf"), float("nan")])
    assert inf == float("inf")
    assert nan != nan
    assert str(round_trip(-0.0)) == "-0.0"


@pytest.mark.parametrize(
    "value",
    [
        object(),
        lambda: 1,
        deque([1]),
        OrderedDict(a=1),
        memoryview(b"x"),
        range(3),
        call(pow, 1, 2),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_would_not_come_back_is_refused(value: Any) -> None:
    with pytest.raises(Unrecordable, match=r"cannot be recorded: .* recordable\(\.\.\.\)"):
        encode([value])


def test_what_no_other_process_finds_is_refused() -> None:
    @dataclass
    class Local:
        x: int

    with pytest.raises(Unrecordable, match="made inside a function, so no other process finds it"):
        encode(Local(1))
    with pytest.raises(Unrecordable, match="made inside a function"):
        recordable(Local, str, lambda text: Local(int(text)))


def test_a_class_is_registered() -> None:
    recordable(Fraction, str, Fraction)
    assert round_trip({"share": Fraction(1, 3)}) == {"share": Fraction(1, 3)}
    with pytest.raises(TypeError, match=r"recordable\(3, \.\.\.\): give a class"):
        recordable(3, str, int)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ({"$": "enum", "k": "os:system", "v": "true"}, "is <built-in function"),
        ({"$": "path", "k": "os:system", "v": "true"}, "does not derive from"),
        ({"$": "data", "k": "builtins:int", "v": {}}, "is not a dataclass any more"),
        ({"$": "enum", "k": "nowhere:Colour", "v": "RED"}, "cannot be found: leave it in its"),
        ({"$": "failure", "k": "builtins:int", "args": []}, "does not derive from"),
        ({"$": "mine:Unknown", "v": 1}, r"call recordable\(\.\.\.\) in a module that this process"),
    ],
)
def test_a_journal_calls_nothing_but_classes(held: Any, said: str) -> None:
    with pytest.raises(Unrecordable, match=said):
        decode(held)


def caused() -> Exception:
    try:
        try:
            raise KeyError("inner")
        except KeyError as inner:
            raise ConnectionError("outer") from inner
    except ConnectionError as outer:
        outer.add_note("a note")
        return outer


def slotted() -> Slotted:
    made = Slotted("s")
    made.z = 3
    return made


FAILURES = [
    ValueError("x"),
    KeyError("k"),
    FileNotFoundError(2, "No such file", "/f\udcff"),
    ConnectionResetError(104, "reset"),
    TimeoutError(),
    UnicodeDecodeError("utf8", b"\xff", 0, 1, "bad"),
    json.JSONDecodeError("message", "doc", 1),
    subprocess.CalledProcessError(1, ["a"], b"out"),
    ssl.SSLCertVerificationError("bad"),
    socket.gaierror(-2, "Name or service not known"),
    TimeoutError(),
    ExceptionGroup("g", [ValueError(1), KeyError(2)]),
    Throttled(2.5),
    ServerError(503, 1),
    NotReady("a", retry_after=2),
    CircuitOpen(3),
    ClientError(404),
    DeadlineExceeded("not done"),
    Misuse("change it"),
    Mine(1, y=2),
    slotted(),
    Mismatch("host", 80),
    caused(),
]


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: type(failure).__name__)
def test_a_failure_comes_back(failure: Exception) -> None:
    back = round_trip(failure)
    assert type(back) is type(failure)
    assert (str(back), repr(back)) == (str(failure), repr(failure))
    assert vars(back).keys() == vars(failure).keys()
    assert getattr(back, "__notes__", []) == getattr(failure, "__notes__", [])
    assert repr(back.__cause__) == repr(failure.__cause__)
    assert getattr(back, "retry_after", None) == getattr(failure, "retry_after", None)
    assert getattr(back, "z", None) == getattr(failure, "z", None)
    assert getattr(back, "filename", None) == getattr(failure, "filename", None)


def test_no_constructor_runs_again(monkeypatch: pytest.MonkeyPatch) -> None:
    failure = Mismatch("host", 80)
    made: list[Any] = []
    monkeypatch.setattr(Mismatch, "__init__", lambda self, *args: made.append(args))
    assert round_trip(failure).port == 80
    assert made == []


class Mixin:
    pass


def test_a_failure_that_cannot_come_back_becomes_its_nearest_base() -> None:
    class Local(Mismatch):
        pass

    class Mixed(Mixin, ConnectionError):
        pass

    for failure in (Local("host", 80), http_error(), Mixed("refused")):
        back = round_trip(failure)
        assert isinstance(failure, type(back))
        assert isinstance(back, OSError)
        name = type(failure).__qualname__
        assert back.__notes__ == [f"recorded as {type(back).__name__}: it was a {name}"]


def http_error() -> Exception:
    with urllib.error.HTTPError("http://localhost", 500, "no", Message(), None) as error:
        error.lock = object()  # type: ignore[attr-defined]
        return error


def test_causes_of_causes_come_back_down_to_the_fifth() -> None:
    failure = deepest = Exception("0")
    for number in range(1, 9):
        deepest.__cause__ = deepest = Exception(str(number))
    back, depth = round_trip(failure), 0
    while back.__cause__ is not None:
        back, depth = back.__cause__, depth + 1
    assert (depth, str(back)) == (5, "5")


def test_a_failure_may_be_its_own_cause() -> None:
    failure = Exception("round")
    failure.__cause__ = failure
    assert str(round_trip(failure).__cause__) == "round"


def test_equal_commands_have_one_digest() -> None:
    assert digest_of(Ask("a")) == digest_of(Ask("a"))
    assert digest_of(Ask("a"))[:2] != digest_of(Ask("b"))[:2]
    assert digest_of(call(pow, 2, 5))[:2] != digest_of(call(pow, 2, 6))[:2]
    assert digest_of(call(str.title, "a")) == digest_of(call(str.title, "a"))
    inner = [frozenset(order) for order in ((0, 8), (8, 0))]  # equal, with other texts
    assert repr(inner[0]) != repr(inner[1])
    one, other = (digest_of(call(len, {each, frozenset({4})})) for each in inner)
    assert one[:2] == other[:2]
    client = object()  # whatever holds a connection differs in each process
    assert digest_of(call(id, client))[:2] == digest_of(call(id, object()))[:2]
    assert digest_of(call("a".title))[:2] == digest_of(call("b".title))[:2]
