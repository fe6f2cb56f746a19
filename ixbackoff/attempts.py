"""Attempts: commands in order, tried at one rung."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import wraps
from typing import Any, Generic, Never, ParamSpec, Protocol, TypeAlias, final

from typing_extensions import TypeVar

from .chains import Chain, Step, chain, counted
from .commands import is_coroutine_function
from .failures import WORTH_ANOTHER_TRY, On, predicate
from .steps import Do as DoStep
from .steps import Map, OrElse, Start, Then

P = ParamSpec("P")
A = TypeVar("A")
B = TypeVar("B")
E = TypeVar("E")
F = TypeVar("F")
A_co = TypeVar("A_co", covariant=True)
E_co = TypeVar("E_co", covariant=True)

Do: TypeAlias = Generator[E, Any, A]
"""What a function in do-notation returns: it issues commands of the row `E` and answers `A`."""


class Effect(Protocol[E_co, A_co]):
    """What can be tried at a rung: a command or an attempt, but never a program."""

    def __iter__(self) -> Generator[E_co, Any, A_co]: ...


@final
class Attempt(Chain, Generic[E_co, A_co]):
    """Commands of the row `E_co`, in order, that answer `A_co` or fail; tried at one rung.

    It is immutable and can be run any number of times. `attempt` makes one in do-notation, `do` one
    to chain.
    """

    __slots__ = ()

    def __init__(self, _sealed: Never) -> None:
        raise TypeError("Make an attempt with @attempt or with do(...).")

    def __iter__(self) -> Generator[E_co, Any, A_co]:
        """Issue its commands in do-notation: `answer = yield from attempt`."""
        # `unroll` runs the steps on a stack of its own, so depth costs no recursion.
        nothing: Any = None
        place: list[Any] = yield nothing
        place.append(self.steps())
        answer: A_co = yield nothing
        return answer

    def then(self, function: Callable[[A_co], Effect[F, B]]) -> Attempt[E_co | F, B]:
        """If it is well, perform the effect that `function` makes of its answer.

        >>> from ixbackoff import N0, at, call, do
        >>> from ixbackoff.live import live
        >>> at(N0).do(do(call(len, "four")).then(lambda n: call(pow, n, 2))).run(live())
        16
        """
        return extended(self, Then(function))

    def map(self, function: Callable[[A_co], B]) -> Attempt[E_co, B]:
        """If it is well, its answer becomes `function` of it.

        >>> from ixbackoff import N0, at, call, do
        >>> from ixbackoff.live import live
        >>> at(N0).do(do(call(len, "four")).map(lambda n: n + 1)).run(live())
        5
        """
        return extended(self, Map(function))

    def or_else(
        self, effect: Effect[F, B], on: On = WORTH_ANOTHER_TRY
    ) -> Attempt[E_co | F, A_co | B]:
        """If it failed, and the failure is `on`, perform `effect` instead.

        >>> from ixbackoff import N0, at, call, do
        >>> from ixbackoff.live import live
        >>> at(N0).do(do(call(int, "four")).or_else(call(int, "4"), on=ValueError)).run(live())
        4
        """
        return extended(self, OrElse(effect, predicate(on)))

    def __repr__(self) -> str:
        return f"<Attempt of {counted(len(self.steps()))}>"


def attempt(function: Callable[P, Do[E, A]]) -> Callable[P, Attempt[E, A]]:
    """Do-notation: a generator function that issues commands with `yield from` makes attempts.

    Between its commands it only computes: what it needs of the world, it asks for by commands.

    >>> from ixbackoff import Do, Download, Log, attempt
    >>> @attempt
    ... def fetch(url: str) -> Do[Download | Log, str]:
    ...     yield from Log("fetching")
    ...     yield from Download(url, "page.html")
    ...     return "page.html"
    >>> fetch("http://localhost/")
    <Attempt of 1 step>

    Raises:
        TypeError: `function` is not callable, or it is a coroutine function.
    """
    if not callable(function):
        raise TypeError(f"attempt({function!r}): give a generator function.")
    if is_coroutine_function(function):
        raise TypeError(
            f"attempt({function.__name__}): it is a coroutine function; write `def` and "
            "`yield from`, and await in the handlers."
        )

    @wraps(function)
    def made(*args: P.args, **kwargs: P.kwargs) -> Attempt[E, A]:
        return extended(None, Start(function, args, kwargs))

    return made


def do(effect: Effect[E, A]) -> Attempt[E, A]:
    """An attempt that performs `effect`: the beginning of a chain.

    >>> from ixbackoff import Log, do
    >>> do(Log("one")).then(lambda _: Log("two"))
    <Attempt of 2 steps>

    Raises:
        TypeError: `effect` is no command and no attempt.
    """
    return extended(None, DoStep(effect))


UNTYPED: type[Attempt[Any, Any]] = Attempt


def extended(before: Chain | None, step: Step) -> Attempt[Any, Any]:
    """The one place where an attempt gets its type: that of the signature it is returned by."""
    return chain(UNTYPED, before, step)
