"""Laws of the header: it never raises, never lengthens anything, and is read as it was written."""

from __future__ import annotations

import math
import random
import subprocess
import sys
import time
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ixbackoff import N3, Constant, NotReady, backoff, time_limit
from ixbackoff._limits.nesting import served
from ixbackoff._limits.served_requests import Inner, beginning
from ixbackoff._words.try_header import Trying, read, said_by

from ..support.servers.trying_texts import random_text, texts


def tries_of(text: str | None, inner: Inner, within: float | None) -> list[float | None]:
    """Return what each try of a function with 4 has left, in a request with this header."""
    limits: list[float | None] = []

    @backoff(N3, schedule=Constant(0), within=within, nested="once")
    def fails() -> None:
        limits.append(time_limit())
        raise NotReady

    request = beginning(inner, False)("GET /", Trying() if text is None else read(text))
    with request.inside(), suppress(NotReady, TimeoutError):
        fails()
    request.end()
    assert served() is None
    assert time_limit() is None
    return limits


inners = st.sampled_from(("nested", "once", "last"))
withins = st.sampled_from((None, 5.0))


@given(texts, inners, withins)
@example("n=1, left=999999.999", "once", 5.0)
@example("left=0", "nested", None)
def test_no_text_gives_more_tries_or_more_time(
    text: str, inner: Inner, within: float | None
) -> None:
    usual = tries_of(None, inner, within)
    tries = tries_of(text, inner, within)
    assert len(tries) <= len(usual) == 4
    said, most = read(text), within or math.inf
    assert all((one is None) == (within is None and said.left is None) for one in tries)
    assert all(one <= min(most, said.left or math.inf) for one in tries if one is not None)
    if said == Trying():
        assert len(tries) == 4


numbers = st.none() | st.integers(1, 10**7)
written = st.builds(
    lambda number, more, left: Trying(number, more if number else None, left),
    numbers,
    numbers,
    st.none() | st.floats(0, 10**7),
)


@given(written)
@example(Trying(left=1.001))
@example(Trying(left=math.nextafter(0.001, 0)))
@example(Trying(left=999_999.9999))
def test_it_is_read_as_it_is_written_and_never_rounded_up(said: Trying) -> None:
    once = read(str(said))
    assert read(str(once)) == once
    assert str(once) == str(said)
    if said.left is not None:
        assert once.left is not None
        assert said.left - 0.001 - max(0, said.left - 999_999) < once.left <= said.left
    assert (once.number is None) == (said.number is None)


@given(st.integers(0, 999_999_999))
def test_milliseconds_are_kept(millis: int) -> None:
    """Products of floats are rounded: 1.001 * 1000 is less than 1001."""
    assert read(str(Trying(left=millis / 1000))).left == millis / 1000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("n=2, more=2, left=1.25", Trying(2, 2, 1.25)),
        ("n=1", Trying(1)),
        ("left=0.5", Trying(left=0.5)),
        ("n=1,n=3\t,\tmore=0", Trying(3, 0)),
        ("n=2, new=?1, other", Trying(2)),
        ("more=2", Trying()),
        ("n=0", Trying()),
        ("n=0, left=1", Trying()),
        ("n=1, left=-1", Trying()),
        ("n=1, left=1e3", Trying()),
        ("n=1, left=1.2345", Trying()),
        ("n=1.5", Trying()),
        ("n=٣", Trying()),
        ("n=1\n", Trying()),
        ("n=1234567", Trying()),
        ("n=1, " + "x" * 130, Trying()),
        ("", Trying()),
    ],
    ids=repr,
)
def test_the_grammar(text: str, said: Trying) -> None:
    assert read(text) == said


def test_two_headers_of_one_name_say_nothing() -> None:
    assert said_by([("ixbackoff-try", "n=1")]) == Trying(1)
    assert said_by([("ixbackoff-try", "n=1"), ("ixbackoff-try", "n=2")]) == Trying()


@pytest.mark.parametrize(
    ("tried", "millis", "own", "said"),
    [
        (["1"], [], [], Trying()),  # Istio sends it with each request
        (["2"], ["1500"], [], Trying(2, None, 1.5)),
        (["1"], ["1500"], [], Trying(left=1.5)),
        (["3"], ["1500"], ["n=1, left=9"], Trying(1, None, 1.5)),
        (["3"], ["9000"], ["left=1"], Trying(3, None, 1)),
        (["x"], ["-5"], [], Trying()),
        (["2", "2"], ["1", "2"], [], Trying()),
    ],
    ids=repr,
)
def test_the_headers_of_proxies(
    tried: list[str], millis: list[str], own: list[str], said: Trying
) -> None:
    given = {"x-envoy-attempt-count": tried, "x-envoy-expected-rq-timeout-ms": millis}
    given |= {"ixbackoff-try": own, "host": ["nuts.example"]}
    headers = [(name, text) for name, texts in given.items() for text in texts]
    assert said_by(headers, proxies=True) == said
    assert said_by(headers, proxies=False) == (read(own[0]) if own else Trying())


@pytest.mark.slow
def test_a_hundred_thousand_random_texts() -> None:
    chance, kept = random.Random(7), 0  # noqa: S311
    for _ in range(100_000):
        said = read(text := random_text(chance))
        assert read(str(said)) == said
        if said == Trying():
            continue
        kept += 1
        assert said.number is None or 1 <= said.number <= 999_999
        assert said.left is None or 0 <= said.left < 1_000_000
        if kept % 20 == 0:
            tries = tries_of(text, chance.choice(("nested", "once", "last")), 5.0)
            assert len(tries) <= 4, text
            assert all(one is not None and one <= min(5.0, said.left or 5.0) for one in tries)
    assert kept > 5_000


def test_each_hop_has_less_time_than_the_one_before() -> None:
    left, lefts = Trying(left=5.0), [5.0]
    for _ in range(3):
        request = beginning("nested", False)("GET /", read(str(left)))
        with request.inside():
            time.sleep(0.002)
            left = Trying(left=time_limit())
        assert left.left is not None
        lefts.append(left.left)
    assert lefts == sorted(lefts, reverse=True)


def test_without_a_middleware_functions_keep_their_fast_path() -> None:
    code = (
        "import sys, ixbackoff, ixbackoff.clients.marks\n"
        "from ixbackoff._limits.observers import SWAPPED\n"
        "assert not SWAPPED\n"
        "from ixbackoff.middleware import asgi\n"
        "assert not SWAPPED\n"
        "asgi(print)\n"
        "assert SWAPPED\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603
