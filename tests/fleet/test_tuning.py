"""`tune`: the parameters of Thain's formula, and what a simulation says of them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ixbackoff.fleet.fleet_subcommands import main as fleet
from ixbackoff.fleet.tune_command import Tuned, failing_rate, tuned
from ixbackoff.schedules.published import thain


def test_a_thousand_clients_that_try_each_second_are_a_thousand_a_second() -> None:
    found = tuned(p99=0.01, clients=1000, rate=1000.0, outage=30.0)
    assert (found.timeout, found.maximum, found.rate) == (0.01, 1.0, 1000.0)
    assert found.schedule == thain(0.01, 1.0)
    assert failing_rate(found, clients=1000) == pytest.approx(1000 / 1.01)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("p99", "clients", "rate", "maximum"),
    [
        (0.01, 1000, 1000.0, 1.0),
        (0.1, 1000, 50.0, 20.0),
        (1.0, 1000, 1000.0, 1.0),
        (2.5, 1000, 1000.0, 2.5),  # no shorter than T
        (0.3, 333, 7.0, 333 / 7),
        (0.25, 1, 0.001, 1000.0),
        (0.001, 1000, 1e5, 0.01),
    ],
)
def test_the_simulation_is_the_closed_form(
    p99: float, clients: int, rate: float, maximum: float
) -> None:
    found = tuned(p99, clients, rate, outage=30.0)
    assert found.maximum == maximum
    assert found.rate <= rate
    assert found.rate == clients / maximum
    for seed in range(3):
        measured = failing_rate(found, clients, seed)
        assert measured == pytest.approx(clients / (maximum + p99), rel=1e-9)
        assert measured < found.rate


def test_a_longest_wait_that_is_too_short_is_seen() -> None:
    short = Tuned(timeout=0.01, maximum=0.5, rungs=36, rate=1000.0)
    assert failing_rate(short, clients=1000) > 1900


seconds = st.floats(1e-3, 100)


@pytest.mark.slow
@settings(max_examples=200)
@given(p99=seconds, maximum=seconds, outage=seconds)
def test_no_ladder_is_shorter_than_the_outage_and_none_longer_than_it_has_to_be(
    p99: float, maximum: float, outage: float
) -> None:
    found = tuned(p99, clients=1000, rate=1000 / maximum, outage=outage)
    waits = [min(p99 * 2.0**k, found.maximum) for k in range(min(found.rungs, 1000))]
    if found.rungs <= 1000:
        assert sum(waits) >= outage * (1 - 1e-9)
        assert sum(waits[:-1]) < outage * (1 + 1e-9)


# The command line.

SOURCES = ["--p99", "0.01", "--clients", "1000", "--rate", "1000"]


def test_it_prints_the_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    words = "tune --p99 0.1 --clients 1000 --rate 500 --outage 20 --seeds 2"
    assert fleet(words.split()) == 0
    assert capsys.readouterr() == (
        "ladder    at(N14): it waits for 20 s at least\n"
        "schedule  thain(timeout=0.1, maximum=2)\n"
        "check     late in a long outage, at most 476.19 requests/s fail (--seeds 2): no more than "
        "--rate 500\n"
        "latency   20.4 s in the median and 22.0 s at the 99th percentile of the runs that begin "
        "with the outage and succeed\n",
        "",
    )


def test_it_says_that_no_ladder_is_so_long(capsys: pytest.CaptureFixture[str]) -> None:
    assert fleet(["tune", *SOURCES, "--seed", "3", "--seeds", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(
        "ladder    36 waits would be needed for 30 s, and the deepest ladder is N20"
    )
    assert lines[1] == "schedule  thain(timeout=0.01, maximum=1)"
    assert "at most 990.099 requests/s fail" in lines[2]
    assert lines[3] == "latency   no run that begins with the outage succeeds"


def test_it_fails_if_the_waits_cannot_grow_enough(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["tune", "--clients", "100", "--rate", "1", "--seeds", "1", "--p99"]
    assert fleet([*words, "0.00001"]) == 1
    assert (
        " requests/s fail (--seeds 1): more than --rate 1, because 20 waits do not grow from 1e-05 "
        "to 100 s; give --p99 0.000190735 or more\n"
    ) in capsys.readouterr().out
    assert fleet([*words, "0.000190735"]) == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "the following arguments are required: --p99, --clients, --rate"),
        (["--p99", "0", *SOURCES[2:]], "argument --p99: 0: give a number, 1e-06 to 3600"),
        ([*SOURCES, "--clients", "0"], "give a whole number, 1 to 1000000"),
        ([*SOURCES, "--clients", "1.5"], "give a whole number, 1 to 1000000"),
        ([*SOURCES, "--rate", "nan"], "argument --rate: nan: give a number, 0.001 to 1e+09"),
        ([*SOURCES, "--rate", "-1"], "argument --rate: -1: give a number, 0.001 to 1e+09"),
        ([*SOURCES, "--outage", "soon"], "argument --outage: soon: give a number"),
        ([*SOURCES, "--outage", "1e300"], "argument --outage: 1e300: give a number"),
        ([*SOURCES, "--seed", "-1"], "argument --seed: -1: give a whole number"),
        ([*SOURCES, "--storm"], "unrecognized arguments: --storm"),
    ],
)
def test_bad_words(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        fleet(["tune", *words])
    assert ended.value.code == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert told in err
