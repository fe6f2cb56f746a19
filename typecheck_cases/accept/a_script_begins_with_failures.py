"""A scripted handler answers what its values say, wherever failures stand among them."""

from typing import Never, assert_type

import ixbackoff.testing as testing
from ixbackoff import Command, Interpreter, NotReady, ServerError, Throttled


class GetETag(Command[str]):
    __slots__ = ()


class Count(Command[int]):
    __slots__ = ()


GetETag.handled_by(testing.answers("a"))
GetETag.handled_by(testing.answers(ServerError(503), "a"))
GetETag.handled_by(testing.answers("a", ServerError(503), "b", NotReady()))
GetETag.handled_by(testing.answers(ServerError(503), NotReady(), Throttled(2), KeyError(), OSError(), TimeoutError(), "a"))
GetETag.handled_by(testing.answers(NotReady(), NotReady(), NotReady(), "a", NotReady(), "b"))
GetETag.handled_by(testing.answers(ServerError(503), NotReady()))
GetETag.handled_by(testing.answers(*[NotReady()] * 3, "a"))
GetETag.handled_by(testing.answers(testing.takes(2, NotReady()), testing.takes(1, "a")))
GetETag.handled_by(testing.answers(NotReady(), testing.computed(lambda command: "a")))
GetETag.handled_by(testing.answers())
GetETag.handled_by(testing.always(ServerError(503)))
GetETag.handled_by(testing.always("a"))

late = testing.answers(NotReady(), NotReady(), "a")
GetETag.handled_by(late)
testing.Virtual(GetETag.handled_by(late) | Count.handled_by(testing.answers(NotReady(), 3)))
assert_type(testing.answers(ServerError(503)), testing.Answers[Never])
assert_type(testing.always(ServerError(503)), testing.Answers[Never])
assert_type(GetETag.handled_by(testing.always(ServerError(503))), Interpreter[GetETag])

by_page = {GetETag(): testing.answers(NotReady(), "a"), GetETag(): testing.answers(NotReady())}
GetETag.handled_by(testing.by_command(by_page))


def of_outcomes(
    outcomes: list[str | BaseException], failures: list[NotReady], outcome: str | Exception
) -> None:
    GetETag.handled_by(testing.answers(*outcomes))
    GetETag.handled_by(testing.answers(NotReady(), *outcomes))
    GetETag.handled_by(testing.answers(*failures))
    GetETag.handled_by(testing.answers(*failures, "a"))
    GetETag.handled_by(testing.answers(outcome))
    GetETag.handled_by(testing.always(outcome))
