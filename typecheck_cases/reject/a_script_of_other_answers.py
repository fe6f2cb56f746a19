"""A scripted handler with a value of another type is refused, behind failures too."""

import ixbackoff.testing as testing
from ixbackoff import Command, NotReady, ServerError


class GetETag(Command[str]):
    __slots__ = ()


GetETag.handled_by(testing.answers(3))  # E: [arg-type]
GetETag.handled_by(testing.answers(ServerError(503), 3))  # E: [arg-type]
GetETag.handled_by(testing.answers(ServerError(503), NotReady(), NotReady(), "a", 3))  # E: [arg-type]
GetETag.handled_by(testing.answers("a", NotReady(), 3))  # E: [arg-type]
GetETag.handled_by(testing.answers(NotReady(), None))  # E: [arg-type]
GetETag.handled_by(testing.answers(testing.takes(1, 3)))  # E: [arg-type]
GetETag.handled_by(testing.always(3))  # E: [arg-type]
GetETag.handled_by(testing.always(None))  # E: [arg-type]
late = testing.answers(NotReady(), 3)
GetETag.handled_by(late)  # E: [arg-type]
