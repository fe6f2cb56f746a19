"""Polling: asking again until the answer is what is expected."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from ixbackoff import N2, N3, Call, NotReady, ServerError, at, call, do
from ixbackoff.schedules.polled_status import OperationFailed, succeeded
from ixbackoff.testing import Virtual, always, answers, waited

from ..support.ways.attempts import a
from ..support.ways.programs import Ask


def test_polling_asks_again_until_the_answer_is_what_is_expected() -> None:
    world = Virtual(Ask.handled_by(answers(1, 2, 3, 4)))
    program = at(N3).retry(do(a).expect(lambda answer: answer > 2))
    assert program.run(world.interpreter) == 3
    assert world.waits == [1, 2]


def test_polling_gives_up_with_what_was_answered_last() -> None:
    world = Virtual(Ask.handled_by(always(1)))
    with pytest.raises(NotReady, match="not what was expected: 1"):
        at(N2).retry(do(a).expect(lambda answer: answer > 2)).run(world.interpreter)
    assert world.waits == [1, 2]


def test_a_failure_is_not_looked_at_by_what_is_expected() -> None:
    world = Virtual(Ask.handled_by(answers(KeyError("k"))))
    with pytest.raises(KeyError):
        at(N3).retry(do(a).expect(lambda answer: False)).run(world.interpreter)


def test_what_is_expected_may_fail_itself() -> None:
    world = Virtual(Ask.handled_by(always(0)))
    with pytest.raises(ZeroDivisionError):
        at(N3).retry(do(a).expect(lambda answer: 1 / answer > 0)).run(world.interpreter)
    world.expect(a)


def test_what_is_expected_is_a_function() -> None:
    untyped: Any = do(a)
    with pytest.raises(TypeError, match="is not a function"):
        untyped.expect(5)


def test_polling_resumes_at_what_is_asked_last() -> None:
    world = Virtual(Ask.handled_by(answers(7, 0, 0, 1)))
    submitted = do(Ask("submit")).then(lambda _: Ask("status")).expect(bool)
    assert at(N3).resume(submitted).run(world.interpreter) == 1
    submit, status = Ask("submit"), Ask("status")
    world.expect(submit, status, waited(1), status, waited(2), status)


def test_a_status_is_a_value_or_a_failure_that_says_what_to_do() -> None:
    assert succeeded("SUCCESS") == "SUCCESS"
    with pytest.raises(NotReady, match=r"^the operation is still running$"):
        succeeded("NOT_READY")
    with pytest.raises(ServerError) as raised:
        succeeded("SERVER_ERROR")
    assert raised.value.status == 500


def test_a_failed_operation_is_the_same_after_its_way_through_pickle() -> None:
    failed = pickle.loads(pickle.dumps(OperationFailed("ACCESS_DENIED")))  # noqa: S301
    assert (failed.status, failed.args) == ("ACCESS_DENIED", ("ACCESS_DENIED",))
    assert str(failed) == "the operation ended with the status ACCESS_DENIED"


@pytest.mark.parametrize("status", ["ACCESS_DENIED", "", "success"])
def test_polling_ends_when_the_operation_has_failed(status: str) -> None:
    world = Virtual(Call[Any].handled_by(answers("NOT_READY", "THROTTLED", "SERVER_ERROR", status)))
    program = at(N3).retry(do(call(str, "status")).map(succeeded))
    with pytest.raises(OperationFailed, match=f"ended with the status {status}"):
        program.run(world.interpreter)
    assert world.waits == [1, 2, 4]
