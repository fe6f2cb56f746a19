"""Replays of recorded answers, by which a stream of commands resumes where it failed."""

from __future__ import annotations

from types import CellType
from typing import Any

from .._words.calls import Calling
from .._words.commands import Command, Misuse, Stream
from .._words.failures import CircuitOpen, Crowded, DeadlineExceeded, Predicate
from .._words.verdicts import attach, recorded
from .._words.vocabulary import CLOCK, Passage, Refused, Together, stands

__tracebackhide__ = True


class Entry:
    __slots__ = ("answer", "command", "failure")

    def __init__(self, command: Command[Any], answer: Any, failure: BaseException | None) -> None:
        self.command = command
        self.answer = answer
        self.failure = failure


class Diverged(Misuse):
    """A resumed attempt issued another command than before.

    Between its commands an attempt may only compute. Whatever depends on the time, on chance or on
    outside state has to be the answer of a command, which can be replayed.

    >>> from itertools import count
    >>> from ixbackoff import N1, Do, Log, NotReady, at, attempt
    >>> from ixbackoff.testing import Virtual, answers
    >>> numbers = count()
    >>> @attempt
    ... def whimsical() -> Do[Log, None]:
    ...     yield from Log(f"number {next(numbers)}")
    ...     yield from Log("then")
    >>> world = Virtual(Log.handled_by(answers(None, NotReady())))
    >>> at(N1).resume(whimsical()).run(world.interpreter)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ixbackoff.Diverged: Resumed at another command: ...
    """


def replay(stream: Stream, log: list[Entry], ons: list[Predicate] | None = None) -> Stream:
    """Answer `stream` from `log` while entries last, then from outside; add new answers to `log`.

    When `stream` fails, remove the entry of the failed command and all later ones from `log`, so
    that the next replay issues them again.

    Raises:
        Diverged: `stream` does not issue the commands of `log`.
    """
    position = 0
    now: Any = None
    places: dict[float, int] = {}  # by time: the place in `log` where the clock was first read
    unlogged: list[BaseException | None] = []  # the outcomes of commands of a gate
    answer: Any = None
    failure: BaseException | None = None
    try:
        command = next(stream)
        while True:
            if command is CLOCK:  # not in `log`; read once in a replay: limits count from there
                answer = failure = None
                try:
                    if now is None or position >= len(log):
                        now = yield command
                        places.setdefault(now, position)
                    answer = now
                except BaseException as error:
                    failure = error
                position -= 1
            elif isinstance(command, Passage | Refused) or stands(command):  # of a gate
                answer = failure = None  # not in `log` either: a replayed try passes
                try:
                    if stands(command) or ons is not None:  # a journal is around this
                        answer = None if position < len(log) else (yield command)
                    elif isinstance(command, Refused):
                        failure = command.refusal
                    elif position >= len(log):
                        answer = yield CLOCK
                except BaseException as error:
                    failure = error
                unlogged.append(failure)
                position -= 1
            elif position < len(log):
                entry = log[position]
                known, answer, failure = entry.command, entry.answer, entry.failure
                if ons and failure is not None and (raised := recorded(failure)) is not None:
                    attach(failure, raised._replace(ons=ons[::-1]))  # may be new objects this time
                if not _same(known, command):
                    failure = Diverged(
                        f"Resumed at another command: it issued {command!r} where it had issued "
                        f"{known!r}; ask for time, chance and outside state by commands, or use "
                        "retry."
                    )
                    log = []  # its cleanup is answered from outside
            else:
                answer = failure = None
                try:
                    answer = yield command
                except BaseException as error:
                    failure = error
                log.append(Entry(command, answer, failure))
            position += 1
            command = stream.send(answer) if failure is None else stream.throw(failure)
    except StopIteration as end:
        return end.value
    except Exception as error:
        del log[_failed_at(error, log, places, unlogged) :]
        raise
    finally:
        del log, failure, unlogged  # break the cycle of exception, traceback and this frame


def _failed_at(
    error: BaseException,
    log: list[Entry],
    places: dict[float, int],
    unlogged: list[BaseException | None],
) -> int:
    """Return the place in `log` of the command whose failure or lateness caused `error`.

    If there is none, the attempt rejected an answer: presumably the last that is not `None` or is a
    failure, else the first one. For `CircuitOpen` and what a gate raised, return the end of `log`.
    """
    cause: BaseException | None = error
    seen: set[int] = set()
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        for place in range(len(log) - 1, -1, -1):
            if log[place].failure is cause:
                return place
        if isinstance(cause, CircuitOpen | Crowded) or any(cause is one for one in unlogged):
            return len(log)
        if isinstance(cause, DeadlineExceeded) and cause.refused in places:
            return places[cause.refused]
        cause = cause.__cause__ or cause.__context__
    judged = [place for place, entry in enumerate(log) if entry.answer is not None or entry.failure]
    return max(judged, default=0)


def _same(known: Command[Any], command: Command[Any]) -> bool:
    if known.__class__ is not command.__class__:
        return False
    if isinstance(known, Calling) and isinstance(command, Calling):
        # A function that is written inside the attempt is a new object in each run, of equal parts.
        return (_made_of(known.function), known.arguments, known.keywords) == (
            _made_of(command.function),
            command.arguments,
            command.keywords,
        )
    if isinstance(known, Together) and isinstance(command, Together):
        # Attempts cannot be compared, only counted.
        return len(known.effects) == len(command.effects)
    return known == command


def _made_of(function: Any) -> tuple[object, ...]:
    inner = getattr(function, "__func__", function)
    code = getattr(inner, "__code__", None)
    if code is None:
        return (function,)
    cells = [_content(cell) for cell in inner.__closure__ or ()]
    return (code, cells, inner.__defaults__, inner.__kwdefaults__, getattr(function, "__self__", 0))


def _content(cell: CellType) -> object:
    try:
        content: object = cell.cell_contents
    except ValueError:  # not bound yet
        return None
    return content
