"""What is checked when runs are killed finds each promise that is broken."""

from __future__ import annotations

import pytest

from ..support.kills.checks import checked, waits_of
from ..support.kills.programs import happened

WAITS = {"copy-1": {2: 1.0}}
RIGHT = """
1.0 7 begin copy-1:0 0 Prepare
1.1 7 end copy-1:0 0 Prepare
1.2 7 begin copy-1:1 0 Fetch
1.3 7 killed -:- 0 -
1.4 8 begin copy-1:1 1 Fetch
1.5 8 failed copy-1:1 1 Fetch
1.8 8 killed -:- 0 -
2.6 9 begin copy-1:3 0 Prepare
2.7 9 end copy-1:3 0 Prepare
2.8 9 result copy-1:end 0 ('copy-1', 36, 2)
"""
TIDIED = """
1.0 7 begin tidied-1:0 0 Prepare
1.1 7 end tidied-1:0 0 Prepare
1.4 7 begin tidied-1:2 0 Store
1.5 7 cancel tidied-1:end 0 -
1.6 7 end tidied-1:2 0 Store
1.7 7 begin tidied-1:3 0 Tidy
1.8 7 end tidied-1:3 0 Tidy
1.9 7 result tidied-1:end 0 Stopped('run tidied-1 was cancelled')
"""
STOPPED = """
1.3 7 stopped -:- 0 -
1.4 8 begin copy-1:1 1 Fetch
1.5 8 failed copy-1:1 1 Fetch
1.6 7 continued -:- 0 -
1.7 7 {late}
1.8 7 lost -:- 0 -
"""


def found(text: str) -> list[str]:
    lines = [happened(line) for line in text.split("\n") if line]
    return checked(lines, WAITS, hold=60.0).broken


def test_what_is_as_promised_is_not_found() -> None:
    assert found(RIGHT) == []
    assert found(TIDIED) == []


KILLED = "1.3 7 killed -:- 0 -\n"
BROKEN = {
    "was performed twice by one process": ("1.4 8 begin copy-1:1", "1.4 7 begin copy-1:1"),
    "without `repeated`": ("copy-1:1 1 Fetch", "copy-1:1 0 Fetch"),
    "though process 7 is alive": (KILLED, ""),
    "by two at one time": (KILLED, "1.45 7 killed -:- 0 -\n"),
    "was answered long before, and asked again": (
        KILLED,
        "1.21 7 failed copy-1:1 0 Fetch\n3.0 7 killed -:- 0 -\n",
    ),
    "was answered, and asked again": ("1.4 8", "2.65 8"),
    "repeated 2 commands after the death of 7": (
        KILLED,
        KILLED + "1.35 8 begin copy-1:0 1 Prepare\n",
    ),
    "waited 0.900 s of 1.000 s": ("2.6 9", "2.4 9"),
    "has the result": ("36, 2)", "35, 2)"),
    "has the results set()": ("2.8 9 result copy-1:end 0 ('copy-1', 36, 2)", ""),
    "nothing before it or after it": ("copy-1:3", "copy-1:1"),
}


@pytest.mark.parametrize(("sentence", "change"), BROKEN.items(), ids=list(BROKEN))
def test_a_broken_promise_is_found(sentence: str, change: tuple[str, str]) -> None:
    changed = RIGHT.replace(*change)
    assert changed != RIGHT
    assert any(sentence in broken for broken in found(changed)), found(changed)


CANCELLED = {
    "performed 2 commands after it was cancelled": (
        "1.7 7 begin",
        "1.65 7 begin tidied-1:3 0 Store\n1.68 7 begin tidied-1:4 0 Store\n1.7 7 begin",
    ),
    "cleaned up 2 times": ("1.8 7 end", "1.75 7 begin tidied-1:4 0 Tidy\n1.8 7 end"),
    "did not clean up": ("0 Tidy", "0 Store"),
}


@pytest.mark.parametrize(("sentence", "change"), CANCELLED.items(), ids=list(CANCELLED))
def test_what_a_cancelled_run_should_not_do_is_found(
    sentence: str, change: tuple[str, str]
) -> None:
    changed = TIDIED.replace(*change)
    assert any(sentence in broken for broken in found(changed)), found(changed)


def test_a_process_that_begins_a_command_after_it_lost_its_lock_is_found() -> None:
    ended = STOPPED.format(late="end copy-1:1 0 Fetch")
    begun = STOPPED.format(late="begin copy-1:3 0 Prepare")
    assert not any("lost its lock" in broken for broken in found(RIGHT.replace(KILLED, ended)))
    assert any("lost its lock" in broken for broken in found(RIGHT.replace(KILLED, begun)))


def test_the_waits_are_those_of_the_plain_run() -> None:
    waits = waits_of("copy", "copy-1", seed=1)
    assert list(waits) == [2, 5, 9]
    assert waits == waits_of("copy", "copy-1", seed=1) != waits_of("copy", "copy-1", seed=2)
    assert 0.35 <= waits[2] <= waits[5] <= waits[9]
    assert waits_of("together", "together-1", seed=1) == {1: 0.35}


def test_a_process_without_a_network_keeps_its_answers_later() -> None:
    """It has an answer before it is cut silently, and dies when it has a network again."""
    silent = "1.05 7 stopped -:- 0 silent\n5.0 7 continued -:- 0 -\n"
    late = "1.1 7 end copy-1:0 0 Prepare\n{}5.5 7 killed -:- 0 -\n5.6 8 begin copy-1:0 1 Prepare\n"
    rest = "5.7 8 end copy-1:0 1 Prepare\n7.0 8 begin copy-1:3 0 Prepare\n"
    begun, ended = "1.0 7 begin copy-1:0 0 Prepare\n", "7.1 8 result copy-1:end 0 ('copy-1', 36, 2)"
    assert found(begun + late.format(silent) + rest + ended) == []
    (broken,) = found(begun + late.format("") + rest + ended)
    assert "was answered long before, and asked again" in broken
