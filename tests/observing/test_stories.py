"""What is kept with a failure: the note that says why it was not tried again, and its story."""

from __future__ import annotations

import io
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import (
    N0,
    N1,
    N2,
    N3,
    Call,
    ClientError,
    Misuse,
    NotReady,
    RetryBudget,
    at,
    backoff,
    call,
    do,
)
from ixbackoff.live import live
from ixbackoff.observing import Ended, Story, observed, story
from ixbackoff.testing import Virtual, answers

from ..support.ways.functions import WAYS, AnyBackoff, Outcome, Script, Way, program, seen, sleeps

every_way = pytest.mark.parametrize("way", [program, *WAYS.values()], ids=["program", *WAYS])
ONCE = "ixbackoff: tries: 1, waits: 0, 0 s in all"
KEPT = "ixbackoff: not tried again: "


@every_way
def test_a_failure_that_is_not_chosen_says_why(way: Way) -> None:
    def notes(made: AnyBackoff, *script: Outcome) -> list[str]:
        return seen(way, made, script).notes

    unknown = f"{KEPT}KeyError is not known to pass by itself; on=... can choose it"
    assert notes(backoff(N3), KeyError) == [unknown, ONCE]
    assert notes(backoff(N3, on=OSError), KeyError) == [
        f"{KEPT}on=... does not choose KeyError",
        ONCE,
    ]
    later = "ixbackoff: tries: 2, waits: 1, 1 s in all"
    assert notes(backoff(N3), NotReady, KeyError) == [unknown, later]


@every_way
def test_no_note_where_no_rung_is_left_and_none_on_a_misuse(way: Way) -> None:
    for made, failure in (
        (backoff(N0), KeyError),
        (backoff(N3), NotReady),
        (backoff(N3), lambda: Misuse("a mistake")),
        (backoff(N0, on=OSError), KeyError),
    ):
        outcome: Any = failure
        assert not any(note.startswith(KEPT) for note in seen(way, made, [outcome]).notes)


STEPS = [at(N1).retry, at(N1).resume, lambda x: at(N1).retry_with(lambda _: x)]


@pytest.mark.parametrize("step", [*STEPS, lambda x: at(N1).do(x).backoff().or_else(x)])
def test_every_step_that_tries_again_says_why_it_did_not(step: Any) -> None:
    failure = ClientError(404)
    world = Virtual(Call.handled_by(answers(failure)))
    with pytest.raises(ClientError):
        step(call(int)).run(world.interpreter)
    assert failure.__notes__[0].startswith(KEPT)
    assert story(failure) == Story(1, 0, 0.0, "not worth another try")


def test_a_failure_that_is_raised_again_has_the_notes_of_its_last_run_only() -> None:
    failure = KeyError("id")
    for _ in range(3):
        with pytest.raises(KeyError):
            at(N1).retry(call(Script([lambda: failure]).ask)).run(live())
    assert len(failure.__notes__) == 2


def test_a_step_that_recovers_takes_what_was_not_chosen() -> None:
    script = Script([KeyError])
    work = at(N1).retry(call(script.ask)).or_else(call(int), on=KeyError)
    assert work.run(live()) == 0


@every_way
@given(st.lists(st.sampled_from([NotReady, KeyError, 1]), min_size=1, max_size=4))
def test_the_story_is_what_the_note_and_the_observers_say(way: Way, script: list[Outcome]) -> None:
    ends: list[Any] = []

    def keep(event: object) -> None:
        if isinstance(event, Ended) and event.failure is not None:
            run = event.run
            ends.append(
                (
                    Story(run.tries, run.wait_count, run.wait_seconds, event.reason),
                    story(event.failure),
                )
            )

    with observed(keep):
        outcome = seen(way, backoff(N2), script)
    assert len(ends) == (outcome.which is not None)
    for expected, told in ends:
        assert told == expected
        assert outcome.notes[-1] == (
            f"ixbackoff: tries: {told.tries}, waits: {told.wait_count}, "
            f"{told.wait_seconds:g} s in all"
        )


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"within": 1}, "no time left"),
    ({"budget": "empty"}, "budget empty"),
]


@pytest.mark.parametrize(("limits", "reason"), REFUSED, ids=[reason for _, reason in REFUSED])
def test_the_reason_of_a_wait_that_is_refused(limits: dict[str, Any], reason: Any) -> None:
    if limits.get("budget") == "empty":
        limits = {"budget": RetryBudget(1, returned=0)}
        limits["budget"].open(0.0).afford(NotReady(), 0.0)
    failure = NotReady()
    world = Virtual(Call.handled_by(answers(failure)))
    with pytest.raises(NotReady):
        at(N3).retry(call(int)).run(world.interpreter, **limits)
    assert story(failure) == Story(1, 0, 0.0, reason)


def test_a_program_that_gives_up_by_itself_gave_up() -> None:
    failure = KeyError("id")
    with pytest.raises(KeyError):
        at(N3).do(call(Script([lambda: failure]).ask)).end().run(live())
    assert story(failure) == Story(1, 0, 0.0, "gave up")


def test_no_run_no_story() -> None:
    assert story(KeyError()) is None
    with pytest.raises(KeyError) as caught:
        raise KeyError("plain")
    assert story(caught.value) is None


class Elsewhere(pickle.Unpickler):
    """Loads in a process where this library is not installed."""

    def find_class(self, module: str, name: str) -> Any:
        assert not module.startswith("ixbackoff"), (module, name)
        return super().find_class(module, name)


def test_a_failure_can_be_pickled_for_a_process_without_this_library() -> None:
    failure = KeyError("id")
    with sleeps(), pytest.raises(KeyError):
        backoff(N2).call(Script([NotReady, lambda: failure]).ask)
    received = Elsewhere(io.BytesIO(pickle.dumps(failure))).load()
    assert received.__notes__ == failure.__notes__
    assert {type(note) for note in received.__notes__} == {str}
    assert story(received) is None


def test_an_exception_that_takes_no_note_is_raised_all_the_same() -> None:
    class Bare(NotReady):
        def add_note(self, note: str, /) -> None:  # noqa: ARG002
            raise RuntimeError("no notes, please")

    with pytest.raises(Bare) as caught:
        at(N0).do(do(call(Script([Bare]).ask))).run(live())
    assert story(caught.value) is None


@pytest.mark.parametrize("notes", [7, None, ("a tuple",)])
def test_a_failure_whose_notes_are_not_a_list_has_no_story(notes: object) -> None:
    failure = NotReady()
    vars(failure)["__notes__"] = notes
    with pytest.raises(NotReady):
        at(N0).do(do(call(Script([lambda: failure]).ask))).run(live())
    assert story(failure) is None


def test_a_note_that_is_not_a_text_does_not_hide_the_story() -> None:
    failure = NotReady()
    vars(failure)["__notes__"] = [7]
    with pytest.raises(NotReady):
        at(N0).do(do(call(Script([lambda: failure]).ask))).run(live())
    assert story(failure) == Story(1, 0, 0.0, "gave up")
