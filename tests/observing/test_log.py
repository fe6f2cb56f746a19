"""The log: waits after failures are warnings, and so is giving up; virtual waits are silent."""

from __future__ import annotations

import logging
import subprocess
import sys
from typing import Any

import pytest

from ixbackoff import (
    FOREVER,
    N0,
    N1,
    N2,
    N3,
    Call,
    CircuitBreaker,
    NotReady,
    RetryBudget,
    Throttled,
    at,
    backoff,
    call,
)
from ixbackoff.live import live
from ixbackoff.schedules import Constant
from ixbackoff.testing import Virtual, answers

from ..support.ways.functions import WAYS, AnyBackoff, Outcome, Script, Way, program, seen, sleeps

every_way = pytest.mark.parametrize("way", [program, *WAYS.values()], ids=["program", *WAYS])
Caplog = pytest.LogCaptureFixture


def lines(caplog: Caplog) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "ixbackoff"]


def logged(caplog: Caplog, way: Way, made: AnyBackoff, script: list[Outcome]) -> list[str]:
    caplog.clear()
    seen(way, made, script)
    return lines(caplog)


@every_way
def test_a_wait_after_a_failure_is_a_warning_that_says_all(way: Way, caplog: Caplog) -> None:
    script: list[Outcome] = [lambda: ConnectionResetError("reset by peer"), lambda: Throttled(9), 1]
    assert logged(caplog, way, backoff(N3, name="fetch"), script) == [
        "fetch: try 1 of 4 failed (ConnectionResetError: reset by peer); waiting 1 s",
        "fetch: try 2 of 4 failed (Throttled: throttled: the service asks to be left alone for "
        "9 s); waiting 9 s",
    ]
    first = caplog.records[0]
    assert first.levelno == logging.WARNING
    said: dict[str, Any] = {
        name: value for name, value in vars(first).items() if name.startswith("ixbackoff_")
    }
    assert said == {
        "ixbackoff_run": "fetch",
        "ixbackoff_try": 1,
        "ixbackoff_of": 4,
        "ixbackoff_wait": 1.0,
        "ixbackoff_failure": "ConnectionResetError",
    }


@every_way
def test_giving_up_is_a_line(way: Way, caplog: Caplog) -> None:
    made = backoff(N3, name="fetch")
    told = logged(caplog, way, made, [lambda: ConnectionResetError("reset by peer")])
    assert len(told) == 4
    assert told[-1] == (
        "fetch: gave up after 4 tries and 7 s of waits (ConnectionResetError: reset by peer)"
    )
    last = caplog.records[-1]
    assert last.levelno == logging.WARNING
    assert {name: value for name, value in vars(last).items() if name.startswith("ixbackoff_")} == {
        "ixbackoff_run": "fetch",
        "ixbackoff_reason": "gave up",
        "ixbackoff_tries": 4,
        "ixbackoff_wait_count": 3,
        "ixbackoff_wait_seconds": 7.0,
        "ixbackoff_failure": "ConnectionResetError",
    }


@every_way
def test_what_began_in_the_log_ends_in_it(way: Way, caplog: Caplog) -> None:
    made = backoff(N3, name="fetch")
    assert logged(caplog, way, made, [1]) == []
    assert logged(caplog, way, made, [KeyError]) == [], "the caller gets the failure at once"
    assert logged(caplog, way, backoff(N0), [NotReady]) == []
    told = logged(caplog, way, made, [NotReady, lambda: KeyError("id")])
    assert len(told) == 2
    assert told[-1].endswith(
        ": gave up after 2 tries and 1 s of waits: not worth another try (KeyError: 'id')"
    )


@every_way
def test_a_refused_wait_is_a_line(way: Way, caplog: Caplog) -> None:
    empty = RetryBudget(1, returned=0)
    empty.open(0.0).afford(NotReady(), 0.0)
    for limit, why in ({"budget": empty}, "budget empty"), ({"within": 1}, "no time left"):
        limits: dict[str, Any] = limit
        [told] = logged(caplog, way, backoff(N3, **limits), [NotReady])
        assert told.endswith(f": gave up after 1 try and 0 s of waits: {why} (NotReady)")


@every_way
def test_a_run_without_waits_is_silent_when_a_breaker_refuses_it(way: Way, caplog: Caplog) -> None:
    breaker = CircuitBreaker(failures=1, within=10, open_for=1e9)
    breaker.fail(0, 0.0)
    caplog.clear()
    assert logged(caplog, way, backoff(N0, breaker=breaker), [1]) == []


@every_way
def test_a_ladder_without_end_goes_on_until_it_is_well(way: Way, caplog: Caplog) -> None:
    made = backoff(FOREVER, schedule=Constant(2), name="fetch")
    told = logged(caplog, way, made, [NotReady, NotReady, NotReady, 1])
    assert len(told) == 3
    assert told[-1].endswith(": try 3 at FOREVER failed (NotReady); waiting 2 s")


@every_way
def test_the_level_of_the_log_may_change_between_calls_and_between_waits(
    way: Way, caplog: Caplog
) -> None:
    logger = logging.getLogger("ixbackoff")

    def fails(level: int) -> Outcome:
        """Set the level, and fail."""

        def failure() -> BaseException:
            logger.setLevel(level)
            return NotReady()

        return failure

    with caplog.at_level(logging.WARNING, logger="ixbackoff"):
        script = [fails(logging.ERROR), fails(logging.WARNING), fails(logging.ERROR), 1]
        for made in (backoff(N3), backoff(N3, schedule=Constant(0.5))) * 2:
            second = made._settings.schedule.preview(2)[1]
            [told] = logged(caplog, way, made, script)
            assert told.endswith(f": try 2 of 4 failed (NotReady); waiting {second:g} s")


@every_way
def test_a_logger_without_a_level_has_that_of_the_root(way: Way, caplog: Caplog) -> None:
    def heard(root: int, disabled: int = logging.NOTSET) -> bool:
        with caplog.at_level(logging.NOTSET, "ixbackoff"), caplog.at_level(root):
            logging.disable(disabled)
            try:
                return bool(logged(caplog, way, backoff(N1), [NotReady, 1]))
            finally:
                logging.disable(logging.NOTSET)

    assert heard(logging.WARNING)
    assert not heard(logging.ERROR)
    assert not heard(logging.WARNING, disabled=logging.WARNING)


def test_a_wait_while_well_is_information(caplog: Caplog) -> None:
    work = at(N1).do(call(int)).wait().do(call(str)).named("look")
    with sleeps(), caplog.at_level(logging.INFO, logger="ixbackoff"):
        work.run(live())
    [record] = caplog.records
    assert (record.levelno, record.getMessage()) == (logging.INFO, "look: waiting 1 s")


def test_the_tries_of_a_step_are_counted_from_its_own_rung(caplog: Caplog) -> None:
    script = Script([1, NotReady, 2])
    work = at(N2).do(call(script.ask)).wait().retry(call(script.ask)).named("look")
    with sleeps():
        work.run(live())
    assert lines(caplog) == ["look: try 1 of 2 failed (NotReady); waiting 2 s"]


def test_live_chooses_the_logger(caplog: Caplog) -> None:
    script = Script([NotReady])
    with sleeps(), pytest.raises(NotReady):
        at(N1).retry(call(script.ask)).run(live(logger=logging.getLogger("mine")))
    assert [record.name for record in caplog.records] == ["mine", "mine"]


def test_virtual_waits_are_silent(caplog: Caplog) -> None:
    with Virtual(Call.handled_by(answers(NotReady(), NotReady(), 3))) as world:
        at(N2).retry(call(int)).run(world.interpreter)
    assert caplog.records == []


def test_the_log_shows_the_note_of_a_handler_and_none_of_ours(caplog: Caplog) -> None:
    def answered() -> BaseException:
        failure = NotReady()
        failure.add_note("ixbackoff: tries: 1, waits: 0, 0 s in all")
        failure.add_note("the server said: closed")
        return failure

    [told] = logged(caplog, WAYS["decorated"], backoff(N1), [answered, 1])
    assert "failed (NotReady (the server said: closed)); waiting" in told


def test_a_process_that_has_set_nothing_up_prints_warnings_and_imports_logging_late() -> None:
    code = """
import sys, time
from ixbackoff import N1, NotReady, backoff
time.sleep = lambda seconds: None

@backoff(N1)
def fetch(well):
    if not well:
        raise NotReady

fetch(True)
assert "logging" not in sys.modules
try:
    fetch(False)
except NotReady:
    pass
"""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert done.stderr.splitlines() == [
        "fetch: try 1 of 2 failed (NotReady); waiting 1 s",
        "fetch: gave up after 2 tries and 1 s of waits (NotReady)",
    ]


@every_way
def test_a_failing_log_ends_it_with_what_was_done(way: Way) -> None:
    class Full(logging.Filter):
        def filter(self, record: logging.LogRecord) -> bool:  # noqa: ARG002
            raise OSError("the disk is full")

    logger = logging.getLogger("ixbackoff")
    full = Full()
    logger.addFilter(full)
    try:
        outcome = seen(way, backoff(N2), [NotReady])
    finally:
        logger.removeFilter(full)
    assert outcome.which == "OSError('the disk is full')"
    assert outcome.notes == ["ixbackoff: tries: 1, waits: 0, 0 s in all"]


class Silent(NotReady):
    """A failure that has no text."""

    def __str__(self) -> str:
        raise ValueError("no text")


class Scribbled(NotReady):
    """A failure whose notes are not a list."""

    __notes__: Any = 7


@every_way
@pytest.mark.parametrize(
    ("strange", "described"),
    [
        (lambda: Silent(), "Silent: <str() failed>"),
        (lambda: Scribbled("busy"), "Scribbled: busy"),
        (lambda: NotReady("busy\nfetch: well\x1b[2J"), "NotReady: busy fetch: well [2J"),
    ],
    ids=["no text", "strange notes", "several lines"],
)  # fmt: skip
def test_a_strange_failure_is_tried_again_and_is_one_line(
    way: Way, strange: Outcome, described: str, caplog: Caplog
) -> None:
    [told] = logged(caplog, way, backoff(N1, name="fetch"), [strange, 1])
    assert told == f"fetch: try 1 of 2 failed ({described}); waiting 1 s"
