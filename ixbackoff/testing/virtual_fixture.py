"""Virtual worlds that answer in place of decorated functions: the fixture `virtual`."""

from __future__ import annotations

from typing import Any, Self, TypeVar, final, overload

from .._functions.default_interpreters import OTHERS, Others, in_place_of_the_real_ones
from .._words.commands import AsyncInterpreter, Interpreter
from .virtual import Virtual, VirtualAsync

__tracebackhide__ = True

E = TypeVar("E")


@final
class Worlds:
    """A maker of worlds for one test; the newest world answers the commands of decorated functions.

    A `VirtualAsync` answers the commands of coroutine functions only. A world answers in the thread
    or task that has made it, and in tasks started there, until the end of the block.

    >>> from ixbackoff import N3, Call, NotReady, backoff
    >>> from ixbackoff.testing import answers
    >>> @backoff(N3)
    ... def page() -> str:
    ...     raise NotImplementedError
    >>> with Worlds() as virtual:
    ...     world = virtual(Call.handled_by(answers(NotReady(), "page")))
    ...     page(), world.waits
    ('page', [1.0])
    """

    def __init__(self) -> None:
        self.made: list[Virtual[Any] | VirtualAsync[Any]] = []
        self._others: list[Others] = []
        self._before: Others | None = None

    @overload
    def __call__(self, scripts: Interpreter[E]) -> Virtual[E]: ...
    @overload
    def __call__(self, scripts: AsyncInterpreter[E]) -> VirtualAsync[E]: ...
    def __call__(self, scripts: Any) -> Virtual[Any] | VirtualAsync[Any]:
        """Make a world with scripted answers, `VirtualAsync` if some are awaited.

        Raises:
            Misuse: `scripts` is not an interpreter.
        """
        kind: Any = VirtualAsync if isinstance(scripts, AsyncInterpreter) else Virtual
        world: Virtual[Any] | VirtualAsync[Any] = kind(scripts)
        others = in_place_of_the_real_ones(world.interpreter)
        self.made.append(world)
        self._others.append(others)
        OTHERS.set(others)
        return world

    def check(self) -> None:
        """Check that every scripted answer was used, and that every command had an answer.

        Raises:
            AssertionError: an answer was not used. The message lists the performed commands.
            Unscripted: a command had no answer, and the program caught the error.
        """
        for world in self.made:
            world.__exit__(None, None, None)

    def __enter__(self) -> Self:
        self._before = OTHERS.get()
        return self

    def __exit__(self, *_: object) -> None:
        for others in self._others:  # after the test an event loop may keep a context with `others`
            others.restore()
        OTHERS.set(self._before)
