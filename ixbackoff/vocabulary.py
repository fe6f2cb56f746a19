"""The standard commands: what most programs ask of the world."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Generic, Never, ParamSpec, Self, TypeAlias, final

from typing_extensions import TypeVar

from .commands import Command, Misuse

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)
P = ParamSpec("P")

INFO = 20  # logging.INFO; logging itself costs 16 ms to import


class Download(Command[None]):
    """Fetch what a URL names into a file.

    The file is there when the answer comes, whole, and not before.

    >>> Download("http://me:secret@localhost/a", "a")
    Download(url='http://localhost/a', path='a')

    Args:
        url: where from, `http://` or `https://`.
        path: the file to write; one that stands there is replaced.
    """

    __slots__ = ("url", "path")

    def __init__(self, url: str, path: str) -> None:
        self.url = url
        self.path = path

    def __repr__(self) -> str:
        return f"Download(url={without_secrets(self.url)!r}, path={self.path!r})"


class Upload(Command[None]):
    """Put a file into an object store.

    >>> Upload("a", "s3://bucket/key")
    Upload(path='a', url='s3://bucket/key')

    Args:
        path: the file.
        url: where to, as the store's URL and the key: `s3://bucket/key`, `file:///folder/key`,
            `memory:///key`; an object that stands there is replaced.
    """

    __slots__ = ("path", "url")

    def __init__(self, path: str, url: str) -> None:
        self.path = path
        self.url = url

    def __repr__(self) -> str:
        return f"Upload(path={self.path!r}, url={without_secrets(self.url)!r})"


class Log(Command[None]):
    """Say something to whoever keeps the log.

    >>> Log("ready")
    Log(message='ready', level=20)

    Args:
        message: what to say.
        level: how much it matters, as the numbers of `logging` (20 is INFO).
    """

    __slots__ = ("message", "level")

    def __init__(self, message: str, level: int = INFO) -> None:
        self.message = message
        self.level = level


class Throw(Command[Never]):
    """Fail with `error`. As a command, so that a test sees it and an interpreter decides.

    >>> Throw(LookupError("no such page"))
    Throw(error=LookupError('no such page'))
    """

    __slots__ = ("error",)

    def __init__(self, error: Exception) -> None:
        self.error = error


@final
class Delay(Command[None]):
    """Wait. Only the ladder issues it: nobody else can make one, so no wait can be slipped in.

    >>> from ixbackoff import N1, at, unroll
    >>> next(unroll(at(N1).wait())).seconds
    1.0
    """

    __slots__ = ("_failure", "_rung", "_seconds")
    _only_the_ladder = True
    _seconds: float
    _rung: int
    _failure: Exception | None

    def __init__(self, _sealed: Never) -> None:
        raise Misuse("Only the ladder waits: use .backoff(), .wait() or .retry(...).")

    def __iter__(self) -> Generator[Self, Any, None]:
        raise Misuse("An attempt cannot wait, only the ladder does: raise NotReady instead.")

    @property
    def seconds(self) -> float:
        """How long, in seconds."""
        return self._seconds

    @property
    def rung(self) -> int:
        """How many waits are left, this one included."""
        return self._rung

    @property
    def failure(self) -> Exception | None:
        """What went wrong before, or `None` when the program waits although it is well."""
        return self._failure

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Delay):
            return NotImplemented
        return (self.seconds, self.rung) == (other.seconds, other.rung)

    def __hash__(self) -> int:
        return hash((Delay, self.seconds, self.rung))

    def __repr__(self) -> str:
        return f"Delay(seconds={self.seconds!r}, rung={self.rung!r})"

    def __str__(self) -> str:
        failure = self.failure
        why = "" if failure is None else f"{failure.__class__.__name__}: {failure}; "
        return f"{why}on N{self.rung}, waiting {self.seconds:g} s"


def delay(seconds: float, rung: int, failure: Exception | None) -> Delay:
    """The one place where a `Delay` is made; for the ladder alone."""
    made = object.__new__(Delay)
    made._seconds = seconds
    made._rung = rung
    made._failure = failure
    return made


class Call(Command[A_co], Generic[A_co]):
    """Call a plain function. Made by `call`, which keeps the function's types.

    >>> call(pow, 2, 5).arguments
    (2, 5)
    """

    __slots__ = ("function", "arguments", "keywords")

    def __init__(
        self,
        function: Callable[..., A_co],
        arguments: tuple[Any, ...] = (),
        keywords: tuple[tuple[str, Any], ...] = (),
    ) -> None:
        self.function = function
        self.arguments = arguments
        self.keywords = keywords

    # A generic command needs its own: one checker loses the answer's type through Self otherwise.
    def __iter__(self) -> Generator[Self, Any, A_co]:
        answer: A_co = yield self
        return answer

    def __call__(self) -> A_co:
        """Call the function; what a handler of `Call` does."""
        return self.function(*self.arguments, **dict(self.keywords))

    def __repr__(self) -> str:
        name = getattr(self.function, "__qualname__", repr(self.function))
        given = [repr(value) for value in self.arguments]
        given += [f"{name}={value!r}" for name, value in self.keywords]
        return f"call({', '.join([name, *given])})"


def call(function: Callable[P, A], /, *args: P.args, **kwargs: P.kwargs) -> Call[A]:
    """A command that calls a plain function with these arguments.

    >>> call(pow, 2, 5)
    call(pow, 2, 5)
    >>> call(pow, 2, 5)()
    32

    Raises:
        TypeError: `function` is not callable.
    """
    if not callable(function):
        raise TypeError(f"call({function!r}): give a function, and its arguments after it.")
    return Call(function, args, tuple(kwargs.items()))


Standard: TypeAlias = Download | Upload | Delay | Log | Throw
"""The row of a program that issues standard commands only."""


def without_secrets(url: str) -> str:
    """`url` as it may be shown: without user name, password, query and fragment.

    A URL that is written badly need not have its password where URLs have it; of one that may be
    so, only the scheme is shown.

    >>> without_secrets("https://me:secret@localhost/a?token=x#y")
    'https://localhost/a'
    >>> without_secrets("https://me:sec/ret@localhost/a")
    'https://...'
    """
    scheme, colon, rest = url.partition(":")
    if not rest.startswith("/"):
        scheme, colon, rest = "", "", url
    place = rest.lstrip("/")
    beginning = scheme + colon + rest[: len(rest) - len(place)]
    end = min(found for mark in "/?#" if (found := (place + mark).find(mark)) >= 0)
    host, after = place[:end].rpartition("@")[2], place[end:]
    port = host.rpartition("]")[2].partition(":")[2]
    no_port = bool(port) and not port.isdecimal()
    if "@" in after and (no_port or after.startswith(("?", "#"))):
        return beginning + "..."
    return beginning + host + after.partition("#")[0].partition("?")[0]
