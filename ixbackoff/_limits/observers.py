"""Observers: functions that are told what runs do, and the transformer of streams that tells them.

An observer that is there when a run begins is told of the whole run, and no other one of any part
of it.
"""

from __future__ import annotations

import time
import warnings
from _thread import allocate_lock
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import BuiltinMethodType, MethodType
from typing import Any, Final, Protocol, TypeAlias

from .._words.commands import Command, Misuse, Stream
from .._words.reasons import Reason
from .._words.vocabulary import CLOCK, Delay, Together
from .events import Answered, Began, Ended, Event, Issued, Run, WaitBegan
from .nesting import this_thread


class Observer(Protocol):
    """A function that is called with each event, in the thread or task where it happens."""

    def __call__(self, event: Event, /) -> object: ...


Observers: TypeAlias = tuple[Observer, ...]

PRESENT: list[Observer] = []
"""Not empty while anybody observes: those who are there now, as one observer."""

SWAPPED: list[Observer | None] = []
"""What a decorated function has to look at before a call, if it is not empty: the cheapest look.

`None` if another interpreter may answer; then those who observe.
"""

LOOK: list[Observer | None] = [None]

clock = time.perf_counter


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
        PRESENT[:] = [as_one(tuple(several))] if several else []
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


def as_one(observers: Observers) -> Observer:
    """Make one observer of several: each is told, whatever the others make of it."""
    if len(observers) == 1:
        return observers[0]

    def all_told(event: Event) -> None:
        left, interrupt, going = iter(observers), None, True
        while going:
            try:
                for observer in left:
                    tell(observer, event)
                going = False
            except BaseException as error:  # such as Ctrl-C: it is raised when all have been told
                interrupt = error
        try:
            if interrupt is not None:
                raise interrupt
        finally:
            interrupt = None

    return all_told


def tell(observer: Observer, event: Event) -> None:
    """Tell one event, whatever the observer makes of it."""
    last = this_thread()
    before = last[2]
    try:  # twice, since Ctrl-C may come at the beginning of a `finally`
        try:
            last[2] = True
            observer(event)
        except Exception as error:
            REGISTER.warn(observer, error)
        finally:
            last[2] = before
    finally:
        last[2] = before


Telling: TypeAlias = Iterator[object]
"""`map(observer, events)`: each step of it takes an event and tells it, in one instruction.

Ctrl-C comes before that or after it, and what is left can still be told.
"""


def tell_rest(observer: Observer, telling: Telling) -> None:
    """Tell what is left of one event or two, whatever the observer makes of it."""
    last = this_thread()
    before = last[2]
    try:  # twice, since Ctrl-C may come at the beginning of a `finally`
        try:
            for _ in EACH:  # an observer that raises `StopIteration` ends one round
                left = True
                while left:
                    try:
                        last[2] = True
                        for _ in telling:
                            pass
                        left = False
                    except Exception as error:
                        REGISTER.warn(observer, error)
                    finally:
                        last[2] = before
        finally:
            last[2] = before
    finally:
        last[2] = before


EACH = range(2)


def reason_of(run: Run, failure: BaseException | None) -> Reason:
    """Return why a run ended."""
    if failure is None:
        return "well"
    if isinstance(failure, Misuse):
        return "misuse"
    return run.reason if isinstance(failure, Exception) else getattr(failure, "reason", "cancelled")


def watched(stream: Stream, run: Run) -> Stream:
    """Pass the stream of a run on, and tell the observers that are there now.

    It stands outside of deadlines and budgets, so a wait that they refuse is not told of.
    """
    for observer in PRESENT:  # which another thread may have emptied meanwhile
        if not this_thread()[2]:
            return run_told(stream, run, observer)
    return stream


def run_told(stream: Stream, run: Run, observer: Observer) -> Stream:
    """Pass the stream of a run on, and tell of the run from its beginning to its end."""
    began: Telling = map(observer, (Began.of(run),))
    ended: Telling | None = None
    failure: BaseException | None = None
    begun = clock()
    try:  # twice, since Ctrl-C may come at the beginning of a `finally`
        try:
            tell_rest(observer, began)
            answer = yield from told(stream, run, observer)
            ended = ending(observer, run, begun, None)
            return answer  # noqa: TRY300  Ctrl-C may come before it
        except BaseException as error:
            failure = error
            raise
        finally:
            tell_rest(observer, began)
            ended = ended or ending(observer, run, begun, failure)
            tell_rest(observer, ended)
    finally:
        tell_rest(observer, began)
        tell_rest(observer, ended or ending(observer, run, begun, failure))
        failure = ended = None


def ending(observer: Observer, run: Run, begun: float, failure: BaseException | None) -> Telling:
    """Begin to tell that a run has ended, with this failure if there is one."""
    return map(observer, (Ended.of(run, reason_of(run, failure), clock() - begun, failure),))


WATCHING: ContextVar[tuple[Run, Observer] | None] = ContextVar("ixbackoff_watching", default=None)
"""The run that effects at the same time are parts of, while they are performed."""


def told(stream: Stream, run: Run, observer: Observer) -> Stream:
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
                    tell(
                        observer, WaitBegan.of(run, command.seconds, command.rung, command.failure)
                    )
                    answer = yield command
                elif command is CLOCK:
                    answer = yield command
                else:
                    answer = yield from answered(command, run, observer)
            except BaseException as error:
                failure = error
    except StopIteration as end:
        return end.value
    except BaseException:  # Ctrl-C may have come while the stream was not answered
        stream.close()
        raise
    finally:  # an exception must not be kept alive by a frame in its own traceback
        failure = command = None


def answered(command: Command[Any], run: Run, observer: Observer) -> Stream:
    """Issue one command, and tell of it and of what came of it."""
    issued = Issued.of(run, command)
    failure: BaseException | None = None
    before, together = None, command.__class__ is Together
    begun = clock()
    try:
        try:
            tell(observer, issued)
            if together:
                before = WATCHING.get()
                WATCHING.set((run, observer))
            return (yield command)
        except BaseException as error:
            failure = error
            raise
        finally:
            if together:
                WATCHING.set(before)
            tell(observer, Answered.of(issued, clock() - begun, failure))
    finally:
        failure = None


def parts_told() -> Callable[[Stream], Stream]:
    """Return the function that has observers told of a part of the run that is watched here."""
    watching = WATCHING.get()
    if watching is None:
        return lambda stream: stream
    run, observer = watching
    return lambda stream: told(stream, run, observer)
