"""Observers, and the stream transformer that calls them with the events of a run.

An observer sees the whole of a run or nothing: it has to be registered before the run begins.
"""

from __future__ import annotations

import time
import warnings
from _thread import allocate_lock
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from types import BuiltinMethodType, MethodType
from typing import Any, Final, Protocol, TypeAlias

from .._words.commands import Command, Misuse, Stream
from .._words.end_reasons import Reason
from .._words.process_state import StateList, placed
from .._words.standard_commands import CLOCK, Delay, Together
from .command_substitution import passed_on
from .events import Answered, Began, Ended, Event, Issued, Run, WaitBegan
from .interrupt_safety import assigned
from .nesting import HERE, new_thread, this_thread


class Observer(Protocol):
    """A function of one event. The thread or task where the event occurs calls it."""

    def __call__(self, event: Event, /) -> object: ...


Observers: TypeAlias = tuple[Observer, ...]

PRESENT: list[Observer] = []
"""The registered observers, combined into one; empty if there are none."""

SWAPPED = placed("SWAPPED", StateList[Observer | None]())
"""Not empty if a decorated function has to leave its fast path.

It contains the combined observer, if there is one, and `None` if the function has to look for
an interpreter of a test or for the incoming request that it serves.
"""

LOOK = placed("LOOK", StateList[Observer | None]([None]))
"""Stands in for `SWAPPED` in decorated functions without a fast path; always `[None]`."""

clock = time.perf_counter


class Register:
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
            self._added = [added for added in self._added if added is not observers]
            self._warned = [each for each in self._warned if not contains(observers, each)]
            self._publish()

    def swap(self) -> None:
        """Make decorated functions check for test interpreters and requests from now on."""
        with self._lock:
            self.swapped = True
            self._publish()

    def _publish(self) -> None:
        distinct: list[Observer] = []
        for observer in [each for added in self._added for each in added]:
            if not contains(distinct, observer):
                distinct.append(observer)
        PRESENT[:] = [combined(tuple(distinct))] if distinct else []
        SWAPPED[:] = [*LOOK, *PRESENT] if self.swapped else PRESENT

    def warn(self, observer: Observer, error: Exception) -> None:
        """Warn about a failed observer, once; print the warning where warnings are errors."""
        with self._lock:
            if contains(self._warned, observer):
                return
            self._warned.append(observer)
        message = f"the observer {shown(observer)} failed, but programs continue: {shown(error)}"
        try:
            warnings.warn(message, RuntimeWarning, stacklevel=4)
        except RuntimeWarning as warning:
            warnings.showwarning(warning, RuntimeWarning, __file__, 0)


REGISTER: Final = Register()

BOUND = MethodType | BuiltinMethodType


def contains(observers: Iterable[Observer], observer: Observer) -> bool:
    """Return whether `observers` contains this observer itself, not merely an equal one.

    Bound methods are compared by equality: `recorder.add` is a new object at each lookup.
    """
    method = isinstance(observer, BOUND)
    return any(
        observer is other or (method and isinstance(other, BOUND) and observer == other)
        for other in observers
    )


def shown(value: object) -> str:
    try:
        return repr(value)
    except Exception:
        return object.__repr__(value)


def observe(*observers: Observer) -> None:
    """Call `observers` with the events of every run that begins from now on in this process.

    The thread or task of the run makes the call, so an observer must be quick, and it must not run
    programs that wait. Runs of an observer or of a simulation are not observed. An observer that
    raises an exception causes one warning, and the program continues.

    >>> from ixbackoff.observing import observe
    >>> observe()

    Raises:
        TypeError: an observer is not a function.
    """
    REGISTER.add(checked(observers))


@contextmanager
def observed(*observers: Observer) -> Generator[None]:
    """Call `observers` with the events of every run of this process that begins in this block.

    Blocks may be nested, and may end in any order. A run that outlives the block is observed to its
    end.

    >>> from ixbackoff import N0, Log, at
    >>> from ixbackoff.live import live
    >>> from ixbackoff.observing import observed
    >>> with observed(lambda event: print(type(event).__name__)):
    ...     at(N0).do(Log("ready")).run(live())
    Began
    Issued
    Answered
    Ended

    Raises:
        TypeError: an observer is not a function.
    """
    added = (*checked(observers),)
    REGISTER.add(added)
    try:
        yield
    finally:
        REGISTER.remove(added)


def checked(observers: Observers) -> Observers:
    for observer in observers:
        candidate: object = observer
        if not callable(candidate) or isinstance(candidate, type):
            raise Misuse(f"{observer!r} is not an observer: give a function of one event.")
    return observers


def combined(observers: Observers) -> Observer:
    if len(observers) == 1:
        return observers[0]

    def notify_all(event: Event) -> None:
        remaining, observer = iter(observers), observers[0]
        interrupt, pending = None, True
        while pending:
            try:
                for observer in remaining:
                    observer(event)
                pending = False
            except Exception as error:
                REGISTER.warn(observer, error)
            except BaseException as error:  # Ctrl-C: call the others first, then raise it
                interrupt = error
        try:
            if interrupt is not None:
                raise interrupt
        finally:
            interrupt = None

    return notify_all


class Notifier:
    """Calls an observer with the events of one run."""

    delivered: type[Event] | None = None  # the kind of the newest event; `None` before `Began`

    def __init__(self, observer: Observer) -> None:
        self.observer = observer
        self.begun = clock()  # the reading of `clock` at the beginning of the run

    def notify(self, *events: Event) -> None:
        """Call the observer with each event; warn if it raises an exception."""
        try:  # `this_thread`, inlined: a run delivers four events or more
            thread = HERE.state
        except AttributeError:
            thread = new_thread()
        observer, before = self.observer, thread.notifying
        try:
            thread.notifying = True
            for event in events:
                try:
                    # Ctrl-C is not raised between these two lines
                    self.delivered = event.__class__
                    observer(event)
                except Exception as error:
                    REGISTER.warn(observer, error)
        finally:
            thread.notifying = before

    def end(self, run: Run, failure: BaseException | None) -> None:
        """Deliver `Ended` once, and only if `Began` was delivered."""
        if self.delivered not in (None, Ended):
            seconds = clock() - self.begun
            self.notify(Ended(run, reason_of(run, failure), seconds, failure))


def reason_of(run: Run, failure: BaseException | None) -> Reason:
    if failure is None:
        return "well"
    if isinstance(failure, Misuse):
        return "misuse"
    return run.reason if isinstance(failure, Exception) else getattr(failure, "reason", "cancelled")


def current_observer() -> Observer | None:
    """Return the observer of a run that begins now; `None` in an observer or a simulation."""
    for observer in PRESENT:  # a loop: another thread may empty the list after a check
        if not this_thread().notifying:
            return observer
    return None


def watched(stream: Stream, run: Run) -> Stream:
    observer = current_observer()
    return stream if observer is None else with_events(stream, run, observer)


def with_events(stream: Stream, run: Run, observer: Observer) -> Stream:
    notifier = Notifier(observer)
    try:
        notifier.notify(Began(run))
        answer = yield from with_command_events(stream, run, notifier)
        notifier.end(run, None)
        return answer  # noqa: TRY300
    except BaseException as failure:
        try:  # twice: see the comment in `interrupt_safety`
            notifier.end(run, failure)
        finally:
            notifier.end(run, failure)
        raise


WATCHING: ContextVar[tuple[Run, Notifier] | None] = ContextVar("ixbackoff_watching", default=None)
"""While concurrent effects run: the observed run that they belong to, and its notifier."""


def with_command_events(stream: Stream, run: Run, notifier: Notifier) -> Stream:
    def instead(command: Any) -> Stream | None:
        if command.__class__ is not Delay:
            return None if command is CLOCK else issued(command, run, notifier)
        notifier.notify(WaitBegan(run, command.seconds, command.rung, command.failure))
        return None

    return passed_on(stream, instead)


def issued(command: Command[Any], run: Run, notifier: Notifier) -> Stream:
    """Issue a command between its events `Issued` and `Answered`."""
    event = Issued(run, command)
    failure: BaseException | None = None
    begun = clock()
    try:
        notifier.notify(event)
        if command.__class__ is not Together:
            return (yield command)
        with assigned(WATCHING, (run, notifier)):
            return (yield command)
    except BaseException as error:
        failure = error
        raise
    finally:
        notifier.notify(Answered(event, clock() - begun, failure))
        del failure  # break the cycle of exception, traceback and this frame


def events_of_parts() -> Callable[[Stream], Stream]:
    """Return a function that adds events to a concurrent effect, if the run is observed."""
    watching = WATCHING.get()
    if watching is None:
        return lambda stream: stream
    run, notifier = watching
    return lambda stream: with_command_events(stream, run, notifier)
