"""Verdicts on failures: whether they are transient, and when the service wants the next try."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from typing import Any, TypeAlias

from .checks import finite
from .commands import Misuse
from .failures import Predicate, Transient
from .values import Value


class Verdict(Value):
    """The judgement of a failure, by what is known of its library.

    Attributes:
        transient: true if the failure may pass by itself, so that another try is worth it.
        retry_after: the seconds that the service asked to be left alone, or `None`.
        why: the reason why the failure does not pass, for its note if it is not retried.
    """

    __slots__ = ("transient", "retry_after", "why")

    def __init__(self, transient: bool, retry_after: float | None = None, why: str = "") -> None:
        self.transient = transient
        self.retry_after = retry_after
        self.why = why


Judge: TypeAlias = Callable[[Any], Verdict]
"""A function from a failure to the verdict on it."""


class Recorded:
    """The judgement of a failure that comes from a journal: that of the failure as it was raised.

    Attributes:
        verdict: the verdict, if that on the failure as it was decoded may differ.
        name: the name of the class that was raised.
        answers: whether each `on` that may be asked chooses the failure.
    """

    __slots__ = ("verdict", "name", "answers")

    def __init__(self, verdict: Verdict | None, name: str) -> None:
        self.verdict = verdict
        self.name = name
        self.answers: Mapping[Predicate, bool] = {}

    def __reduce__(self) -> tuple[Any, ...]:  # an `on` may be a lambda
        return Recorded, (self.verdict, self.name)


RECORDED = "_ixbackoff_recorded"
"""The attribute of a failure from a journal that holds its `Recorded`."""

LIBRARIES: dict[str, str] = {
    "aiohttp": "aiohttp",
    "asyncpg": "asyncpg",
    "boto3": "botocore",
    "botocore": "botocore",
    "ftplib": "ftplib",
    "google.api_core": "google_api_core",
    "google.auth": "google_auth",
    "grpc": "grpc",
    "http": "urllib",
    "httpcore": "httpx",
    "httpcore2": "httpx",
    "httpx": "httpx",
    "httpx2": "httpx",
    "obstore": "obstore",
    "psycopg": "psycopg",
    "pymongo": "pymongo",
    "redis": "redis",
    "requests": "requests",
    "s3transfer": "botocore",
    "smtplib": "smtplib",
    "socket": "socket",
    "sqlalchemy": "sqlalchemy",
    "sqlite3": "sqlite3",
    "ssl": "socket",
    "urllib": "urllib",
    "urllib3": "urllib3",
}
"""The module of `known` that judges an exception, by the package that defines the exception.

The module is imported at the first failure of that package, when the library is already imported.
"""

ADDED: dict[type[Exception], Judge] = {}
"""The judges that `register` was called with."""

FOUND: dict[type[Exception], Judge] = {}
"""A cache: the judges of the classes of earlier failures, because a search takes microseconds."""

SILENT: set[type[Exception]] = set()
"""The classes in `FOUND` whose failures never ask for a time."""

DECODED: set[type[Exception]] = set()
"""The classes of failures from a journal whose recorded verdict may differ from their own."""

FORGOTTEN: list[int] = [0]
"""The number of times that the cache was cleared, so that copies of its entries can be renewed."""

MOST_FOUND = 1000  # a program may make classes as it runs, and the cache keeps them alive


def register(kind: type[Exception], judge: Judge) -> None:
    """Register a judge for failures of a class and of its subclasses.

    It holds for the whole process, and replaces an earlier judge of the class.

    >>> from ixbackoff import known, is_transient
    >>> class QueueFull(Exception):
    ...     pass
    >>> known.register(QueueFull, lambda failure: known.Verdict(True, retry_after=2))
    >>> is_transient(QueueFull()), known.retry_after(QueueFull())
    (True, 2.0)

    Args:
        kind: the class of exceptions.
        judge: a function from such a failure to its `Verdict`.

    Raises:
        Misuse: `kind` is not a class of exceptions, or it is a kind of `Misuse`; or `judge` is not
            a function.
    """
    given: Any = kind
    if not (isinstance(given, type) and issubclass(given, Exception)):
        raise Misuse(f"known.register({kind!r}, ...): give a class of exceptions.")
    if issubclass(given, Misuse):
        raise Misuse(f"known.register({kind.__name__}, ...): a mistake in a program never passes.")
    if not callable(judge):
        raise Misuse(
            f"known.register({kind.__name__}, {judge!r}): give a function from the failure to a "
            "Verdict."
        )
    ADDED[kind] = judge
    forget()


def judge(failure: Exception) -> Verdict:
    """Judge a failure by what is known of the library that it comes from.

    >>> judge(ConnectionRefusedError())
    Verdict(transient=True, retry_after=None, why='')
    >>> judge(KeyError("id")).why
    'KeyError is not known to pass by itself'

    Raises:
        Misuse: a registered judge returned something else.
    """
    kind = failure.__class__
    found: object = (FOUND.get(kind) or judge_of(kind))(failure)
    if not isinstance(found, Verdict):
        raise Misuse(f"The judge of {kind.__name__} returned {found!r}: return a known.Verdict.")
    return found


def is_transient(failure: Exception) -> bool:
    """Return whether a failure may pass by itself: the default of every `on`.

    These may: `Transient`, `ConnectionError`, `TimeoutError`, their subclasses, and the failures of
    other libraries that `ixbackoff.known` lists.

    >>> from ixbackoff import NotReady, is_transient
    >>> is_transient(NotReady()), is_transient(ConnectionResetError()), is_transient(ValueError())
    (True, True, False)
    """
    known = FOUND.get(failure.__class__)
    if known is passing or known is may_say_when:  # most failures that are tried again
        return True
    return known is not unknown and judge(failure).transient


def chooses(on: Predicate, failure: Exception) -> bool:
    """Return whether `on` chooses a failure; for one from a journal, what was recorded."""
    recorded = failure.__dict__.get(RECORDED)
    answer = None if recorded is None else recorded.answers.get(on)
    return on(failure) if answer is None else answer


def recorded_judgement(failure: Exception) -> Recorded:
    """Return the judgement of a failure from a journal; of another one, that of its class."""
    recorded: Recorded | None = failure.__dict__.get(RECORDED)
    return recorded or Recorded(None, failure.__class__.__qualname__)


def attach(failure: Exception, recorded: Recorded) -> None:
    """Attach a recorded judgement to a failure, so that it replaces that of its class."""
    failure.__dict__[RECORDED] = recorded
    if recorded.verdict is not None and failure.__class__ not in DECODED:
        DECODED.add(failure.__class__)
        forget()


def retry_after(failure: Exception) -> float | None:
    """Return the seconds that the service asked to be left alone, or `None` if it did not ask.

    >>> from ixbackoff import Throttled, known
    >>> known.retry_after(Throttled(2.5))
    2.5

    Raises:
        ValueError: `retry_after` of a class of one's own is not a number of seconds.
    """
    return seconds_asked(judge(failure))


def seconds_asked(verdict: Verdict) -> float | None:
    asked = verdict.retry_after
    if asked is None:
        return None
    seconds = finite(asked)
    if not seconds >= 0:
        raise ValueError(f"retry_after={asked!r}: give seconds, 0 or more, or None.")
    return seconds


def asked_for(failure: Any) -> float:
    """Return the seconds that the service asked to be left alone, 0 if it did not.

    Raises:
        ValueError: as `retry_after` does.
    """
    return retry_after(failure) or 0.0


def judge_of(kind: type[Exception]) -> Judge:
    """Find the judge of a class, or else of its nearest base that has one."""
    judge = next(filter(None, map(judge_of_base, kind.__mro__)), unknown)
    if kind in DECODED:
        judge = partial(judge_recorded, judge)
    if len(FOUND) >= MOST_FOUND:
        forget()
    FOUND[kind] = judge
    if judge in (passing, unknown):
        SILENT.add(kind)
    return judge


def forget() -> None:
    """Clear the cache."""
    FOUND.clear()
    SILENT.clear()
    FORGOTTEN[0] += 1


def judge_recorded(judge: Judge, failure: Exception) -> Verdict:
    return recorded_judgement(failure).verdict or judge(failure)


def judge_of_base(base: Any) -> Judge | None:
    if base in ADDED:
        return ADDED[base]
    if base in OWN:
        return OWN[base]
    names = str(base.__module__).split(".")  # `google` is a namespace that many packages share
    module = LIBRARIES.get(names[0]) or LIBRARIES.get(".".join(names[:2]))
    if module is None:
        return None
    judge: Judge = import_module(f"ixbackoff.known.{module}").judge
    return judge


def may_say_when(failure: Transient) -> Verdict:
    return Verdict(True, said_when(failure))


def said_when(failure: Transient) -> float | None:
    """Return `failure.retry_after`; `None` if a subclass makes it a property that raises."""
    try:
        return failure.retry_after
    except Exception:
        return None


def passing(_: Exception) -> Verdict:
    return Verdict(True)


def all_pass(failure: ExceptionGroup[Exception]) -> Verdict:
    """Judge a group: it passes if all of its failures may, after the longest of their waits."""
    verdicts = [judge(one) for one in members(failure)]
    asked = [seconds for one in verdicts if (seconds := seconds_asked(one)) is not None]
    refused = next((one for one in verdicts if not one.transient), None)
    return refused or Verdict(True, max(asked, default=None))


def members(failure: Exception) -> Iterator[Exception]:
    """Yield the failures of a group and of the groups in it, each once."""
    waiting: list[Any] = [failure]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        found: Any = FOUND.get(one.__class__) or judge_of(one.__class__)
        if found is all_pass or getattr(found, "args", ()) == (all_pass,):
            waiting += reversed(one.exceptions)
        else:
            yield one


def unknown(failure: Exception) -> Verdict:
    return Verdict(False, why=f"{failure.__class__.__qualname__} is not known to pass by itself")


OWN: dict[type[Exception], Judge] = {
    Misuse: unknown,  # whatever the judge of TypeError or of Exception returns
    Transient: may_say_when,
    ConnectionError: passing,
    TimeoutError: passing,
    ExceptionGroup: all_pass,
}
