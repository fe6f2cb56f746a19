"""The standard commands, which most programs issue."""

from __future__ import annotations

from collections.abc import Generator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Never, Self, TypeAlias, final

from .checks import between
from .commands import Command, Misuse, Repeatable, Stream
from .end_reasons import Reason
from .printable_text import printable

if TYPE_CHECKING:
    from datetime import timedelta

INFO = 20  # logging.INFO; logging itself costs 16 ms to import


class Download(Repeatable[None]):
    """A download of a URL into a file, which appears when the download is complete.

    >>> Download("http://me:secret@localhost/a", "a")
    Download(url='http://localhost/a', path='a')

    Args:
        url: the URL to read, `http://` or `https://`.
        path: the file to write; an existing one is replaced.
    """

    __slots__ = ("url", "path")

    def __init__(self, url: str, path: str) -> None:
        self.url = url
        self.path = path

    def __repr__(self) -> str:
        return f"Download(url={without_secrets(self.url)!r}, path={self.path!r})"


class Upload(Command[None]):
    """An upload of a file to an object store.

    >>> Upload("a", "s3://bucket/key")
    Upload(path='a', url='s3://bucket/key')

    Args:
        path: the file.
        url: the URL of the object, with its store and key: `s3://bucket/key`,
            `file:///folder/key`, `memory:///key`; an existing object is replaced.
    """

    __slots__ = ("path", "url")

    def __init__(self, path: str, url: str) -> None:
        self.path = path
        self.url = url

    def __repr__(self) -> str:
        return f"Upload(path={self.path!r}, url={without_secrets(self.url)!r})"


class Log(Repeatable[None]):
    """A message for the log.

    >>> Log("ready")
    Log(message='ready', level=20)

    Args:
        message: the text.
        level: the level, as a number of `logging` (20 is INFO).
    """

    __slots__ = ("message", "level")

    def __init__(self, message: str, level: int = INFO) -> None:
        self.message = message
        self.level = level


class Throw(Repeatable[Never]):
    """A command that fails with `error`. Unlike a `raise`, it has a handler, and traces show it.

    >>> Throw(LookupError("no such page"))
    Throw(error=LookupError('no such page'))
    """

    __slots__ = ("error",)

    def __init__(self, error: Exception) -> None:
        self.error = error


def throw(command: Throw) -> Never:
    __tracebackhide__ = True
    try:
        raise command.error
    finally:
        del command  # break the cycle of exception, traceback and this frame


@final
class Delay(Command[None]):
    """A wait. Only the ladder makes and issues it, so attempts cannot add waits.

    The only other `Delay` is that of a try in line at a `Gate`; it is on no rung.

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
        raise Misuse("Delay cannot be subclassed: only the ladder waits.")

    def __iter__(self) -> Generator[Self, Any, None]:
        raise Misuse("An attempt cannot wait, only the ladder does: raise NotReady instead.")

    @property
    def seconds(self) -> float:
        """The length of the wait, in seconds."""
        return self._seconds

    @property
    def rung(self) -> int:
        """The number of waits left, including this one; 0 for a try in line at a gate.

        At `FOREVER` it goes down from 20 to 1, and stays 1.
        """
        return self._rung

    @property
    def failure(self) -> Exception | None:
        """The failure before the wait, or `None` if the program waits after a success."""
        return self._failure

    @property
    def run(self) -> Any:
        """The run that waits; `None` for a simulated client, and for a try in line."""
        return None if self._run is LINE else self._run

    def refuse(self, reason: Reason) -> None:
        """Record in the run why this wait is refused; the caller then raises instead of waiting."""
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


def delay(seconds: float, rung: int, failure: Exception | None, run: Any = None) -> Delay:
    """Make a `Delay`, for a ladder or a try in line."""
    made = object.__new__(Delay)
    made._seconds = seconds
    made._rung = rung
    made._failure = failure
    made._run = run
    return made


LINE: Any = object()
"""The `_run` of a `Delay` that a try in line at a gate has issued."""


def in_line(seconds: float) -> Delay:
    return delay(seconds, 0, None, LINE)


class Now(Command[float]):
    """A reading of the interpreter's clock, in seconds that never decrease (`time.monotonic`).

    In virtual time it reads the virtual clock, so deadlines agree with waits.

    >>> from ixbackoff import N0, at
    >>> at(N0).do(Now()).run(Now.handled_by(lambda command: 7.5))
    7.5
    """

    __slots__ = ()


CLOCK = Now()
"""The command that deadlines, budgets, breakers and gates issue; it is not in any trace."""


class Passage(Command["float | None"]):
    """A gate's reading of the clock, which no journal records; in a replay its answer is `None`."""

    __slots__ = ()


PASSAGE, IN_PASSAGE = Passage(), Passage()  # a gate's first reading for a try, and its later ones


class Refused(Command[None]):
    """The refusal of a try by a gate, for the journal; the command fails with `refusal`."""

    __slots__ = ("refusal",)

    def __init__(self, refusal: Exception) -> None:
        self.refusal = refusal


LEAST, MOST = 1e-3, 1e9
"""The bounds of `tries` and `per` of a `Limiter` and a `Reserve`; `line` and `burst` share MOST."""


class Reserve(Command[float]):
    """A reservation of a turn, the time when a try may begin, at a rate that processes can share.

    After a burst, at most `tries` tries begin in `per` seconds. `do(effect).through(Reserve(...))`
    issues the command before each try. The try then stands in line for the seconds that the handler
    answers, or fails with `Crowded` at once, as with a `Limiter`. The handler decides where turns
    are stored: see `turns_in_redis` and others in `ixbackoff.live`.

    >>> from ixbackoff import N0, Call, at, call, do
    >>> from ixbackoff.testing import Virtual, always
    >>> page = do(call(str, "page")).through(Reserve("api", 2, line=5))
    >>> world = Virtual(Call.handled_by(always("page")))
    >>> at(N0).do(page).do(page).do(page).run(world.interpreter), world.lines
    ('page', [0.5, 0.5])

    Args:
        name: the name of the service. All users of one name have to give the same rate. The other
            arguments are those of `Limiter`, with the same bounds.

    Raises:
        ValueError: a number is out of bounds.
    """

    __slots__ = ("name", "tries", "per", "line", "burst")

    def __init__(
        self,
        name: str,
        tries: float,
        *,
        per: float | timedelta = 1,
        line: float | timedelta,
        burst: int = 1,
    ) -> None:
        self.name = name
        self.tries = between("tries", tries, LEAST, MOST, "tries")
        self.per = between("per", per, LEAST, MOST, "seconds")
        self.line = between("line", line, 0, MOST, "seconds")
        self.burst = int(between("burst", burst, 1, MOST, "tries"))

    def __iter__(self) -> Generator[Self, Any, float]:
        raise Misuse("A turn is reserved for an effect: write do(effect).through(Reserve(...)).")


def issued_in_line(command: Command[Any]) -> bool:
    """Return whether a try in line at a gate has issued `command`.

    Journals omit such commands: after a crash the turn may be over, so the try reserves another.
    """
    return isinstance(command, Reserve) or (isinstance(command, Delay) and not command._rung)


class Pick(Repeatable[int]):
    """A random number of `range(count)`, as a command: a test can choose it, a replay repeats it.

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
class Together(Command[Any]):
    """Concurrent effects; made by `all_of` and `.hedged`. A run performs them, without a handler.

    Attributes:
        copied: whether each command has to be `Repeatable`, because it is in a hedge.
        hedge: the `Hedge`, if the second effect is a copy of the first.
    """

    __slots__ = ("effects", "copied", "hedge")
    _answered_by_runs = True

    def __init_subclass__(cls) -> None:
        raise Misuse("Together cannot be subclassed: all_of makes it.")

    def __init__(self, effects: tuple[Any, ...], copied: bool = False, hedge: Any = None) -> None:
        self.effects = effects
        self.copied = copied
        self.hedge = hedge


def checked_copy(part: Any) -> Stream | None:
    """Check a part of a hedge; return what to issue in its place, or `None` to issue the part."""
    kind = part.__class__.__name__
    if part is CLOCK or isinstance(part, Repeatable | Passage | Refused):
        return None
    if isinstance(part, Together):
        if part.hedge is None:
            return None if part.copied else iter(Together(part.effects, copied=True))
        raise Misuse("A hedge inside a hedge would ask four times: leave out one of them.")
    if kind in ("Limited", "Guarded", "Delay", "Reserve"):
        raise Misuse("A hedge has no limit, breaker or gate inside: write it after .hedged.")
    instead = {"Call": "make it with read(...)", "CallAsync": "make it with read_async(...)"}
    raise Misuse(
        f"{kind} may not be issued twice: {instead.get(kind, 'derive it from Repeatable')} if a "
        "copy does no harm, however late it is carried out."
    )


Standard: TypeAlias = Download | Upload | Delay | Log | Throw
"""The row of a program that issues standard commands only."""

WITHOUT_SERVICE = (Log, Now, Pick, Throw)
"""Commands that need no service: as steps, they pass open breakers, and take no time in plans."""

MARKS = frozenset("@?#")
"""The characters that may separate secrets from the rest of a URL."""


@lru_cache(maxsize=256)
def without_secrets(url: str) -> str:
    """Return a URL without its secrets: user name, password, query and fragment.

    Of a URL that may be malformed only the scheme is returned: the password may be anywhere in it.

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
