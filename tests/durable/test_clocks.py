"""The clocks of waits: the boot clock, and the clock that all workers share."""

from __future__ import annotations

import time

import pytest

from ixbackoff._running.boot_clock import Boot
from ixbackoff.durable import clocks
from ixbackoff.durable.clocks import DatabaseClock, left

WAIT = {"seconds": 10.0, "due": 1010.0, "boot": "this boot", "boot_due": 110.0}


@pytest.mark.parametrize(
    ("boot", "now", "seconds"),
    [
        pytest.param(Boot("this boot", 104.0), 5000.0, 6.0, id="the boot clock counts"),
        pytest.param(Boot("this boot", 112.0), 0.0, -2.0, id="it is over"),
        pytest.param(Boot("another", 104.0), 1007.0, 3.0, id="after a reboot"),
        pytest.param(Boot("another", 104.0), 1.0, 10.0, id="after the clock was set back"),
        pytest.param(Boot("", 0.0), 1007.0, 3.0, id="without a boot clock"),
    ],
)
def test_what_is_left_of_a_wait(
    boot: Boot, now: float, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clocks, "since_boot", lambda: boot)
    assert left(WAIT, now) == seconds


def test_where_no_boot_has_an_id_all_boots_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clocks, "since_boot", lambda: Boot("", 0.0))
    assert left(WAIT | {"boot": "", "boot_due": 10.0}, 1007.0) == 3.0


def test_the_clock_of_a_database_counts_while_it_does_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clocks, "AGE", 0.0)
    answers = [5000.0]

    def ask() -> float:
        return answers.pop()  # raises once it is empty

    clock = DatabaseClock(ask)
    began = time.monotonic()
    assert 5000.0 <= clock() <= 5001.0 + time.monotonic() - began
    answers.append(9000.0)
    assert clock() >= 9000.0
