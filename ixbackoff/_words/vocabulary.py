"""The standard commands: what most programs ask of the world."""

from __future__ import annotations

from collections.abc import Generator
from functools import lru_cache
from typing import Any, Never, Self, TypeAlias, final

from .commands import Command, Misuse
from .reasons import Reason
from .texts import printable

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
    """Fail with `error`, as a command: a test sees it, and an interpreter decides what it does.

    >>> Throw(LookupError("no such page"))
    Throw(error=LookupError('no such page'))
    """

    __slots__ = ("error",)

    def __init__(self, error: Exception) -> None:
        self.error = error


@final
class Delay(Command[None]):
    """Wait. Only the ladder makes and issues it, so that no other wait can be slipped in.

    >>> from ixbackoff import N1, at, unroll
    >>> next(unroll(at(N1).wait())).seconds
    1.0
    """

    __slots__ = ("_failure", "_run", "_rung", "_seconds")
    _only_the_ladder = True
    _seconds: float
    _rung: int
    _failure: Exception | None
    _run: Any

    def __init__(self, _sealed: Never) -> None:
        raise Misuse("Only the ladder waits: use .backoff(), .wait() or .retry(...).")

    def __init_subclass__(cls) -> None:
        raise Misuse("Delay has no kinds: only the ladder waits.")

    def __iter__(self) -> Generator[Self, Any, None]:
        raise Misuse("An attempt cannot wait, only the ladder does: raise NotReady instead.")

    @property
    def seconds(self) -> float:
        """The length of the wait, in seconds."""
        return self._seconds

    @property
    def rung(self) -> int:
        """The number of waits that are left, this one included."""
        return self._rung

    @property
    def failure(self) -> Exception | None:
        """The failure before the wait, or `None` where the program waits although it is well."""
        return self._failure

    @property
    def run(self) -> Any:
        """The run that waits, or `None` where a simulated client does."""
        return self._run

    def refuse(self, reason: Reason) -> None:
        """Tell the run why its wait is not begun: whoever refuses one fails it, and says so."""
        if self.run is not None:
            self.run.refused = reason

    def __reduce__(self) -> Any:
        return delay, (self.seconds, self.rung, self.failure)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Delay):
            return NotImplemented
        return (self.seconds, self.rung) == (other.seconds, other.rung)

    def __hash__(self) -> int:
        return hash((Delay, self.seconds, self.rung))

    def __repr__(self) -> str:
        return f"Delay(seconds={self.seconds!r}, rung={self.rung!r})"

    def __str__(self) -> str:
        return f"{told(self.failure)}on N{self.rung}, waiting {self.seconds:g} s"


def told(failure: Exception | None) -> str:
    """Describe the failure before a wait, with its first note: there a handler says more."""
    if failure is None:
        return ""
    message = f": {failure}" if str(failure) else ""
    note = next(iter(getattr(failure, "__notes__", ())), None)
    return f"{failure.__class__.__name__}{message}{f' ({note})' if note else ''}; "


def delay(seconds: float, rung: int, failure: Exception | None, run: Any = None) -> Delay:
    """Make a `Delay`; only the ladder does, and only here."""
    made = object.__new__(Delay)
    made._seconds = seconds
    made._rung = rung
    made._failure = failure
    made._run = run
    return made


class Now(Command[float]):
    """Read the clock: seconds that only go forward, such as those of `time.monotonic`.

    The clock is the interpreter's, so that virtual time drives deadlines as it drives waits.

    >>> from ixbackoff import N0, at
    >>> at(N0).do(Now()).run(Now.handled_by(lambda command: 7.5))
    7.5
    """

    __slots__ = ()


CLOCK = Now()
"""The command that deadlines and budgets issue beside a program; it is not in any trace."""


class Pick(Command[int]):
    """Draw one number of `range(count)`, as a command: a test decides it, and a replay repeats it.

    >>> from ixbackoff import N0, at
    >>> at(N0).do(Pick(6)).run(Pick.handled_by(lambda command: command.count - 1))
    5

    Args:
        count: the number of choices, 1 or more.
    """

    __slots__ = ("count",)

    def __init__(self, count: int) -> None:
        self.count = count


@final
class Together(Command[list[Any]]):
    """Perform effects at the same time; made by `all_of`. Each way of running performs it itself.

    Args:
        effects: the commands and attempts.
    """

    __slots__ = ("effects",)
    _answered_by_runs = True

    def __init_subclass__(cls) -> None:
        raise Misuse("Together has no kinds: all_of makes it.")

    def __init__(self, effects: tuple[Any, ...]) -> None:
        self.effects = effects


Standard: TypeAlias = Download | Upload | Delay | Log | Throw
"""The row of a program that issues standard commands only."""


MARKS = frozenset("@?#")
"""Beside one of these stands what is secret in a URL."""


@lru_cache(maxsize=256)
def without_secrets(url: str) -> str:
    """Return a URL as it may be shown: without user name, password, query and fragment.

    In a malformed URL the password may stand anywhere. Of one that may be malformed, only the
    scheme is shown.

    >>> without_secrets("https://me:secret@localhost/a?token=x#y")
    'https://localhost/a'
    >>> without_secrets("https://me:sec/ret@localhost/a")
    'https://...'
    """
    url = printable(url)
    if MARKS.isdisjoint(url):
        return url
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
