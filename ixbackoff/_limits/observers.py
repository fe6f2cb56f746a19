"""Observers: functions that are told what runs do, and the transformer of streams that tells them.

An observer that is there when a run begins is told of the whole run, and no other one of any part
of it.
"""

from __future__ import annotations

import time
import warnings
from _thread import allocate_lock, get_ident
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from types import BuiltinMethodType, MethodType
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from .._words.commands import Command, Misuse, Stream
from .._words.reasons import Reason
from .._words.vocabulary import CLOCK, Delay, Together

IDS = count(1)


class Run:
    """One run of a program, a function or a block; it goes on while observers are told of it.

    Attributes:
        name: the name of what runs; by default that of its first function or command.
        id: a number that no other run of this process has.
        tries: how many attempts were begun, from the first event after `Began`.
        waits: how many waits are over.
        waited: the seconds of these waits.
    """

    tries: int = 0
    waits: int = 0
    waited: float = 0.0
    reason: Reason = "gave up"
    """Why it ends with a failure: whoever decides that sets it."""

    unseen: bool = False
    """True if it was begun by an observer, so that nobody is told of it."""

    _id: int | None = None

    @property
    def name(self) -> str:
        raise NotImplementedError

    @property
    def id(self) -> int:
        return self._id or self.__dict__.setdefault("_id", next(IDS))  # two threads agree on one

    def __repr__(self) -> str:
        return f"<Run {self.id} of {self.name}>"


class Began(NamedTuple):
    """A run begins."""

    run: Run


class Issued(NamedTuple):
    """A command was issued, and its handler is called next.

    Attributes:
        run: the run that issued it.
        command: the command, a value that other runs may issue at the same time.
    """

    run: Run
    command: Command[Any]


class Answered(NamedTuple):
    """A command was answered, or it failed.

    Attributes:
        run: the run that issued it.
        issued: the event of its beginning, the same object.
        seconds: how long it took, on the real clock.
        failure: the exception that it failed with, if it did.
    """

    run: Run
    issued: Issued
    seconds: float
    failure: BaseException | None


class Waits(NamedTuple):
    """A wait begins, and nothing can refuse it any more.

    Attributes:
        run: the run that waits.
        seconds: how long the wait is.
        rung: how many waits are left, this one included.
        failure: the failure before it, or `None` where the run waits although it is well.
    """

    run: Run
    seconds: float
    rung: int
    failure: Exception | None


class Ended(NamedTuple):
    """A run has ended.

    Attributes:
        run: the run.
        reason: why it ended.
        seconds: how long it took, on the real clock.
        failure: the exception that it ended with, if it did.
    """

    run: Run
    reason: Reason
    seconds: float
    failure: BaseException | None


Event: TypeAlias = Began | Issued | Answered | Waits | Ended
"""All that observers are told; `match` tells the kinds apart."""


class Observer(Protocol):
    """A function that is called with each event, in the thread or task where it happens."""

    def __call__(self, event: Event, /) -> object: ...


Observers: TypeAlias = tuple[Observer, ...]

Tell: TypeAlias = Callable[..., None]
"""A function that tells some observers of one event, or of two."""

PRESENT: list[Tell] = []
"""Not empty while anybody observes: it holds what tells those who are there now."""

SWAPPED: list[Tell | None] = []
"""What a decorated function has to look at before a call, if it is not empty: the cheapest look.

`None` if another interpreter may answer; then what tells those who observe.
"""

LOOK: list[Tell | None] = [None]

clock = time.perf_counter
untyped: Any = tuple
made: Any = untyped.__new__
"""Make an event: half the cost of the constructor that `NamedTuple` writes."""


class Register:
    """The observers of this process, as they were added."""

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._added: list[Observers] = []
        self._warned: list[Observer] = []
        self.swapped = False

    def add(self, observers: Observers) -> None:
        with self._lock:
            self._added.append(observers)
            self._publish()

    def remove(self, observers: Observers) -> None:
        with self._lock:
            self._added = [one for one in self._added if one is not observers]
            self._warned = [one for one in self._warned if not among(one, observers)]
            self._publish()

    def swap(self) -> None:
        """From now on decorated functions look who answers."""
        with self._lock:
            self.swapped = True
            self._publish()

    def _publish(self) -> None:
        several: list[Observer] = []
        for observer in [one for added in self._added for one in added]:
            if not among(observer, several):
                several.append(observer)
        PRESENT[:] = [teller(tuple(several))] if several else []
        SWAPPED[:] = [*LOOK, *PRESENT] if self.swapped else PRESENT

    def warn(self, observer: Observer, error: Exception) -> None:
        """Warn of an observer that failed, once, also where warnings are errors."""
        with self._lock:
            if among(observer, self._warned):
                return
            self._warned.append(observer)
        said = f"the observer {shown(observer)} failed, and programs went on: {shown(error)}"
        try:
            warnings.warn(said, RuntimeWarning, stacklevel=4)
        except RuntimeWarning as warning:
            warnings.showwarning(warning, RuntimeWarning, __file__, 0)


REGISTER: Final = Register()

BOUND = MethodType | BuiltinMethodType


def among(observer: Observer, others: Iterable[Observer]) -> bool:
    """Return whether an observer is one of these; equal ones are not the same, unless methods.

    A method is another object each time that it is looked up.
    """
    method = isinstance(observer, BOUND)
    return any(
        observer is other or (method and isinstance(other, BOUND) and observer == other)
        for other in others
    )


def shown(value: object) -> str:
    """Return the representation of an observer or its failure, which may itself fail."""
    try:
        return repr(value)
    except Exception:
        return object.__repr__(value)


TELLING: set[int] = set()
"""The threads in which an observer is called now: what it runs itself is told to nobody."""


def observe(*observers: Observer) -> None:
    """Tell `observers` of every run that begins from now on, in the whole process.

    An observer is called in the thread or task of the run, so it must be quick, and it must not run
    programs that wait. Nobody is told of the runs that it begins itself. If it raises an exception,
    there is one warning and the program goes on.

    >>> from ixbackoff.observing import observe
    >>> observe()

    Raises:
        TypeError: one of them is not a function.
    """
    REGISTER.add(checked(observers))


@contextmanager
def observed(*observers: Observer) -> Generator[None]:
    """Tell `observers` of every run that begins in this block, in the whole process.

    Blocks may be nested, and may end in any order. A run that goes on after the block is told of to
    its end.

    >>> from ixbackoff import N0, Log, at
    >>> from ixbackoff.live import live
    >>> from ixbackoff.observing import observed
    >>> with observed(lambda event: print(type(event).__name__, event.run.name)):
    ...     at(N0).do(Log("ready")).run(live())
    Began Log
    Issued Log
    Answered Log
    Ended Log

    Raises:
        TypeError: one of them is not a function.
    """
    added = (*checked(observers),)
    REGISTER.add(added)
    try:
        yield
    finally:
        REGISTER.remove(added)


def checked(observers: Observers) -> Observers:
    for observer in observers:
        given: object = observer
        if not callable(given) or isinstance(given, type):
            raise Misuse(f"{observer!r} is not an observer: give a function of one event.")
    return observers


def teller(observers: Observers) -> Tell:
    """Return the function that tells these observers, whatever they make of it."""
    if len(observers) > 1:
        several = [teller((one,)) for one in observers]
        return lambda *events: all_told(several, events)
    observer = next(iter(observers))

    def tell(event: Event, following: Event | None = None) -> None:
        thread = get_ident()
        inside = thread in TELLING
        if inside and event.__class__ is Began:
            event[0].unseen = True
        if event[0].unseen:
            return
        try:
            try:
                TELLING.add(thread)
                observer(event)
            except Exception as error:
                REGISTER.warn(observer, error)
        finally:  # also after Ctrl-C
            try:
                if following is not None:
                    observer(following)
            except Exception as error:
                REGISTER.warn(observer, error)
            finally:
                if not inside:
                    TELLING.discard(thread)

    return tell


def all_told(several: list[Tell], events: tuple[Event, ...]) -> None:
    """Tell several observers; an exception such as Ctrl-C is raised when all have been told."""
    interrupt: BaseException | None = None
    for event in events:
        for tell in several:
            try:
                tell(event)
            except BaseException as error:
                interrupt = error
    try:
        if interrupt is not None:
            raise interrupt
    finally:
        interrupt = None


class Telling:
    """The observers of one run, who are told of its beginning, and once of its end."""

    __slots__ = ("_begun", "_left", "_run", "_tell")

    def __init__(self, run: Run, tell: Tell) -> None:
        self._run = run
        self._tell = tell
        self._left = False
        self._begun = clock()

    def began(self) -> None:
        """Tell that the run begins."""
        self._left = True
        self._tell(made(Began, (self._run,)))

    def ended(self, failure: BaseException | None) -> None:
        """Tell that the run has ended, with this failure if there is one."""
        left, self._left = self._left, False
        if left:
            reason = reason_of(self._run, failure)
            try:
                self._tell(made(Ended, (self._run, reason, clock() - self._begun, failure)))
            finally:
                del failure


def reason_of(run: Run, failure: BaseException | None) -> Reason:
    """Return why a run ended."""
    if failure is None:
        return "well"
    if isinstance(failure, Misuse):
        return "misuse"
    return run.reason if isinstance(failure, Exception) else "cancelled"


def watched(stream: Stream, run: Run) -> Stream:
    """Pass the stream of a run on, and tell the observers that are there now.

    It stands outside of deadlines and budgets, so a wait that they refuse is not told of.
    """
    for tell in PRESENT:  # which another thread may have emptied meanwhile
        return run_told(stream, run, tell)
    return stream


def run_told(stream: Stream, run: Run, tell: Tell) -> Stream:
    """Pass the stream of a run on, and tell of the run from its beginning to its end."""
    telling = Telling(run, tell)
    failure: BaseException | None = None
    try:
        try:
            telling.began()
            return (yield from told(stream, run, tell))
        except BaseException as error:
            failure = error
            raise
        finally:
            telling.ended(failure)
    finally:  # a second time, since Ctrl-C may come at the beginning of the first
        telling.ended(failure)
        failure = None


WATCHING: ContextVar[tuple[Run, Tell] | None] = ContextVar("ixbackoff_watching", default=None)
"""The run that effects at the same time are parts of, while they are performed."""


def told(stream: Stream, run: Run, tell: Tell) -> Stream:
    """Pass a stream on, and tell of its commands and waits."""
    answer: Any = None
    failure: BaseException | None = None
    command: Any = None
    try:
        while True:
            command = stream.send(answer) if failure is None else stream.throw(failure)
            answer = failure = None
            try:
                if command.__class__ is Delay:
                    tell(made(Waits, (run, command.seconds, command.rung, command.failure)))
                    answer = yield command
                elif command is CLOCK:
                    answer = yield command
                else:
                    answer = yield from answered(command, run, tell)
            except BaseException as error:
                failure = error
    except StopIteration as end:
        return end.value
    finally:  # an exception must not be kept alive by a frame in its own traceback
        failure = command = None


def answered(command: Command[Any], run: Run, tell: Tell) -> Stream:
    """Issue one command, and tell of it and of what came of it."""
    issued = made(Issued, (run, command))
    failure: BaseException | None = None
    before, together = None, command.__class__ is Together
    begun = clock()
    try:
        try:
            tell(issued)
            if together:
                before = WATCHING.get()
                WATCHING.set((run, tell))
            return (yield command)
        except BaseException as error:
            failure = error
            raise
        finally:
            if together:
                WATCHING.set(before)
            tell(made(Answered, (run, issued, clock() - begun, failure)))
    finally:
        failure = None


def parts_told() -> Callable[[Stream], Stream]:
    """Return the function that has observers told of a part of the run that is watched here."""
    watching = WATCHING.get()
    if watching is None:
        return lambda stream: stream
    run, tell = watching
    return lambda stream: told(stream, run, tell)
