"""Verdicts on failures: whether they are transient, and when the service wants the next try."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from errno import EMFILE, ENFILE
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple, TypeAlias

from .checks import finite, inf
from .commands import Misuse
from .equality_by_fields import Value
from .failure_classes import TRUSTED, NotBefore, Predicate, Transient, checked_retry_after


class Verdict(Value):
    """A judgement of a failure, by the rules of the library that raised it.

    Attributes:
        transient: true if the failure may pass by itself, so that another try is worth it.
        retry_after: the seconds that the service asked to be left alone, or `None`.
        why: the reason why the failure is not transient, for the note of a run that does not retry.
    """

    __slots__ = ("transient", "retry_after", "why")

    def __init__(self, transient: bool, retry_after: float | None = None, why: str = "") -> None:
        self.transient = transient
        self.retry_after = retry_after
        self.why = why


class Inner(Value):
    """Retries of another library inside of one try.

    Attributes:
        library: the name of the library.
        tries: the number of its tries, at least 2.
        remedy: the argument or setting that turns its retries off.
    """

    __slots__ = ("library", "tries", "remedy")

    def __init__(self, library: str, tries: int, remedy: str) -> None:
        self.library = library
        self.tries = tries
        self.remedy = remedy


Judge: TypeAlias = Callable[[Any], Verdict]
"""A function from a failure to the verdict on it."""


class Recorded(NamedTuple):
    """A recorded judgement of a failure: verdict, class name, and answers of predicates (`ons`)."""

    verdict: Verdict
    name: str
    ons: Sequence[Predicate] = ()
    answers: Sequence[bool | float | None] = ()

    def __reduce__(self) -> tuple[Any, ...]:  # without `ons`, which may be lambdas
        return Recorded, (self.verdict, self.name)


RECORDED = "_ixbackoff_recorded"
"""The attribute that holds the `Recorded` of a failure that was decoded from a journal."""

OWN_MODULE = (
    *("aiohttp", "botocore", "grpc", "httpx", "obstore", "psycopg", "pymongo"),
    *("requests", "sqlalchemy", "urllib", "urllib3"),
)
DRIVERS = (
    *("aiormq", "asyncpg", "clickhouse_connect", "ftplib", "hvac", "mysql", "MySQLdb"),
    *("neo4j", "paramiko", "pika", "pymysql", "redis", "smtplib", "sqlite3"),
    "cimpl",  # of confluent_kafka
)
MODELS = ("anthropic", "cohere", "google.genai", "groq", "litellm", "mistralai", "openai")
LIBRARIES: dict[str, str] = {
    **{package: package for package in OWN_MODULE},
    **dict.fromkeys(DRIVERS, "other_drivers"),
    **dict.fromkeys(MODELS, "language_models"),
    **dict.fromkeys(("boto3", "s3transfer"), "botocore"),
    **dict.fromkeys(("google.api_core", "google.auth"), "google_api_core"),
    **dict.fromkeys(("httpcore", "httpcore2", "httpx2"), "httpx"),
    "http": "urllib",
    "socket": "unreachable",
    "ssl": "unreachable",
}
"""The module of `known` that judges an exception, by the package that defines the exception.

The module is imported at the first failure of the package. By then the package itself is imported.
"""

ADDED: dict[type[Exception], Judge] = {}
"""The judges that `register` was called with."""

FOUND: dict[type[Exception], Judge] = {}
"""A cache: the judges of the classes of earlier failures, because a search takes microseconds."""

SILENT: set[type[Exception]] = set()
"""The classes in `FOUND` whose failures never ask to be left alone for a time."""

DECODED: set[type[BaseException]] = set()
"""The classes of failures from journals: a recorded verdict replaces that of the judge."""

FORGOTTEN: list[int] = [0]
"""The number of times that the cache was cleared, so that copies of its entries can be renewed."""

NO_MORE_FILES = (EMFILE, ENFILE)

MOST_FOUND = 1000  # a program may make classes as it runs, and the cache keeps them alive


def register(kind: type[Exception], judge: Judge) -> None:
    """Register a judge for failures of a class and of its subclasses.

    The judge holds for the whole process, and replaces an earlier one of the class.

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
        Misuse: `kind` is not a class of exceptions, or is a subclass of `Misuse`; or `judge` is not
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
    """Judge a failure by the rules of the library that raised it.

    >>> judge(ConnectionRefusedError())
    Verdict(transient=True, retry_after=None, why='')
    >>> judge(KeyError("id")).why
    'KeyError is not known to pass by itself'

    Raises:
        Misuse: a registered judge did not return a `Verdict`.
    """
    kind = failure.__class__
    try:
        found: object = (FOUND.get(kind) or judge_of(kind))(failure)
    except OSError as error:  # from the import of a module of `known`, at its first use
        if error.errno not in NO_MORE_FILES:
            raise
        found = Verdict(False, why="its judge could not be imported: too many files are open")
    if not isinstance(found, Verdict):
        raise Misuse(f"The judge of {kind.__name__} returned {found!r}: return a known.Verdict.")
    return found


def is_transient(failure: Exception) -> bool:
    """Return whether a failure is transient (may pass by itself): the default of every `on`.

    `Transient`, `ConnectionError` and `TimeoutError` are transient, and so are their subclasses for
    which there is no other rule. `ixbackoff.known` has the rules for other libraries.

    >>> from ixbackoff import NotReady, is_transient
    >>> is_transient(NotReady()), is_transient(ConnectionResetError()), is_transient(ValueError())
    (True, True, False)
    """
    known = FOUND.get(failure.__class__)
    if known is always_transient or known is transient_with_time:  # as for most retried failures
        return True
    return known is not never_transient and judge(failure).transient


def chooses(on: Predicate, failure: Exception) -> Any:
    """Return the answer of `on` about a failure: the recorded one, if there is one."""
    known = recorded(failure)
    if known is not None:
        for each, answer in zip(known.ons, known.answers, strict=False):
            if each is on and answer is not None:
                return answer if isinstance(answer, bool) else NotBefore(answer)
    return on(failure)


def recorded(failure: BaseException) -> Recorded | None:
    found: Recorded | None = failure.__dict__.get(RECORDED)
    return found


def raised_name(failure: Exception) -> str:
    known = recorded(failure)
    return failure.__class__.__qualname__ if known is None else known.name


def attach(failure: BaseException, judgement: Recorded) -> None:
    """Replace the judgement of a failure by a recorded one."""
    failure.__dict__[RECORDED] = judgement
    if isinstance(failure, Transient):
        failure.__dict__["retry_after"] = judgement.verdict.retry_after
    if failure.__class__ not in DECODED:
        DECODED.add(failure.__class__)
        forget()


def retry_after(failure: Exception) -> float | None:
    """Return the seconds that the service asked to be left alone, or `None` if it did not ask.

    >>> from ixbackoff import Throttled, known
    >>> known.retry_after(Throttled(2.5))
    2.5

    Raises:
        ValueError: the `retry_after` that a class or a judge of yours gives is not a number of
            seconds, 0 or more.
    """
    return seconds_asked(judge(failure))


def seconds_asked(verdict: Verdict | Transient) -> float | None:
    asked = checked_retry_after(retry_after_of(verdict))
    return None if asked is None else finite(asked)


def asked_for(failure: Any) -> float:
    """Return the seconds that the service asked to be left alone; 0 if it did not ask."""
    if failure.__class__ in SILENT:
        return 0.0
    verdict = failure if FOUND.get(failure.__class__) is transient_with_time else judge(failure)
    asked = retry_after_of(verdict)
    if asked is None or (asked.__class__ is float and 0.0 <= asked < inf):
        return asked or 0.0
    return seconds_asked(verdict) or 0.0


def judge_of(kind: type[Exception]) -> Judge:
    """Find and store the judge of a class: its own, or that of its nearest base class with one."""
    judge = next(filter(None, map(judge_of_base, kind.__mro__)), None) or judge_by_shape(kind)
    if kind in DECODED:
        judge = partial(judge_recorded, judge)
    if len(FOUND) >= MOST_FOUND:
        forget()
    FOUND[kind] = judge
    if judge in (always_transient, never_transient):
        SILENT.add(kind)
    return judge


def forget() -> None:
    FOUND.clear()
    SILENT.clear()
    FORGOTTEN[0] += 1


def judge_recorded(judge: Judge, failure: Exception) -> Verdict:
    known = recorded(failure)
    return judge(failure) if known is None else known.verdict


def judge_of_base(base: Any) -> Judge | None:
    if base in ADDED:
        return ADDED[base]
    if base in OWN:
        # databricks raises a plain TimeoutError after minutes of its own retries
        databricks = base is TimeoutError and "databricks.sdk" in sys.modules
        return judge_in("other_drivers") if databricks else OWN[base]
    names = str(base.__module__).split(".")  # `google` is a namespace that many packages share
    module = LIBRARIES.get(names[0]) or LIBRARIES.get(".".join(names[:2]))
    return judge_in(module) if module else None


def judge_in(module: str) -> Judge:
    judge: Judge = import_module(f"ixbackoff.known.{module}").judge
    return judge


def judge_by_shape(kind: type[Exception]) -> Judge:
    """Return the judge of a class without a known base: that of `shapes`, or `never_transient`.

    `never_transient` judges the classes of this package and of Python, except built-in `OSError`s.
    """
    package = str(kind.__module__).partition(".")[0]
    ours = package in sys.stdlib_module_names or package == "ixbackoff"
    if ours and not (package == "builtins" and issubclass(kind, OSError)):
        return never_transient
    return judge_in("shapes")


def inner(failure: BaseException) -> list[Inner]:
    """Return the retries of other libraries inside of the try that ended with a failure.

    They are read from the tracebacks of the failure and its causes, and from answers of botocore.
    The outermost comes first. A library that tried once, or that left no trace, is left out.

    >>> inner(ConnectionRefusedError())
    []
    """
    with suppress(OSError):  # from the import, if no more files can be opened
        found: list[Inner] = import_module("ixbackoff.known.inner_retries").inner(failure)
        return found
    return []


def transient_with_time(failure: Transient) -> Verdict:
    return Verdict(True, retry_after_of(failure))


def retry_after_of(failure: Verdict | Transient) -> float | None:
    """Return `failure.retry_after`; `None` if a subclass makes it a property that raises."""
    try:
        return failure.retry_after
    except Exception:
        return None


def always_transient(_: Exception) -> Verdict:
    return Verdict(True)


def judge_group(failure: ExceptionGroup[Exception]) -> Verdict:
    """Judge a group: it is transient if all its failures are, and asks for their longest time."""
    verdicts = [judge(member) for member in members(failure)]
    asked = [seconds for each in verdicts if (seconds := seconds_asked(each)) is not None]
    permanent = next((each for each in verdicts if not each.transient), None)
    return permanent or Verdict(True, max(asked, default=None))


def members(failure: Exception) -> Iterator[Exception]:
    """Yield the failures of a group and of the groups in it, each once."""
    waiting: list[Any] = [failure]
    seen: set[int] = set()
    while waiting:
        member = waiting.pop()
        if id(member) in seen:
            continue
        seen.add(id(member))
        found: Any = FOUND.get(member.__class__) or judge_of(member.__class__)
        if found is judge_group or getattr(found, "args", ()) == (judge_group,):
            waiting += reversed(member.exceptions)
        else:
            yield member


def never_transient(failure: Exception) -> Verdict:
    return Verdict(False, why=f"{failure.__class__.__qualname__} is not known to pass by itself")


TRUSTED.append(is_transient)

OWN: dict[type[Exception], Judge] = {
    Misuse: never_transient,  # whatever the judge of TypeError or of Exception returns
    Transient: transient_with_time,
    ConnectionError: always_transient,
    TimeoutError: always_transient,
    ExceptionGroup: judge_group,
}
