"""Replays of recorded answers, by which a stream of commands resumes where it failed."""

from __future__ import annotations

from types import CellType
from typing import Any

from .._words.call_commands import Calling
from .._words.commands import Command, Misuse, Stream
from .._words.failure_classes import CircuitOpen, Crowded, DeadlineExceeded, Predicate
from .._words.judging import attach, recorded
from .._words.standard_commands import CLOCK, Passage, Refused, Together, issued_in_line

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
    that the next replay issues them again. `ons` is `ProgramRun.ons`: `None` without a journal.
    """
    position = 0
    now: Any = None
    read_at: dict[float, int] = {}  # time -> the index in `log` where the clock first showed it
    unlogged: list[BaseException | None] = []  # the outcomes of commands of a gate
    answer: Any = None
    failure: BaseException | None = None
    try:
        command = next(stream)
        while True:
            if command is CLOCK:  # not in `log`; read once for all replayed commands
                answer = failure = None
                try:
                    if now is None or position >= len(log):
                        now = yield command
                        read_at.setdefault(now, position)
                    answer = now
                except BaseException as error:
                    failure = error
                position -= 1
            elif isinstance(command, Passage | Refused) or issued_in_line(command):
                answer = failure = None  # not in `log`: a replayed try has passed its gates
                try:
                    if issued_in_line(command) or ons is not None:  # only journals answer `Passage`
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
                before, answer, failure = entry.command, entry.answer, entry.failure
                if ons and failure is not None and (raised := recorded(failure)) is not None:
                    attach(failure, raised._replace(ons=ons[::-1]))  # `chooses` finds `on` by `is`
                if not _same(before, command):
                    failure = Diverged(
                        f"Resumed at another command: the attempt issued {command!r} where it had "
                        f"issued {before!r}; ask for time, chance and outside state by commands, "
                        "or use retry."
                    )
                    log = []  # from now on: issue the commands of the cleanup
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
        del log[_failed_at(error, log, read_at, unlogged) :]
        raise
    finally:
        del log, failure, unlogged  # break the cycle of exception, traceback and this frame


def _failed_at(
    error: BaseException,
    log: list[Entry],
    read_at: dict[float, int],
    unlogged: list[BaseException | None],
) -> int:
    """Return the index in `log` of the command whose failure or lateness caused `error`.

    If there is none, the attempt has rejected an answer: return the index of the last entry with a
    failure or with an answer other than `None`, or 0 without such an entry. For `CircuitOpen`, and
    for an exception of a gate, return the end of `log`.
    """
    cause: BaseException | None = error
    seen: set[int] = set()
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        for index in range(len(log) - 1, -1, -1):
            if log[index].failure is cause:
                return index
        if isinstance(cause, CircuitOpen | Crowded) or any(cause is one for one in unlogged):
            return len(log)
        if isinstance(cause, DeadlineExceeded) and cause.refused in read_at:
            return read_at[cause.refused]
        cause = cause.__cause__ or cause.__context__
    judged = [index for index, entry in enumerate(log) if entry.answer is not None or entry.failure]
    return max(judged, default=0)


def _same(before: Any, command: Any) -> bool:
    if before.__class__ is not command.__class__:
        return False
    if isinstance(before, Calling):
        # A function written inside the attempt is a new object in each replay, but has equal parts.
        given = before.arguments, before.keywords
        same = _made_of(before.function) == _made_of(command.function)
        return same and given == (command.arguments, command.keywords)
    if isinstance(before, Together):
        # Attempts cannot be compared, only counted.
        return len(before.effects) == len(command.effects)
    return bool(before == command)


def _made_of(function: Any) -> tuple[object, ...]:
    inner = getattr(function, "__func__", function)
    code = getattr(inner, "__code__", None)
    if code is None:
        return (function,)
    cells = [_content(cell) for cell in inner.__closure__ or ()]
    return (code, cells, inner.__defaults__, inner.__kwdefaults__, getattr(function, "__self__", 0))


def _content(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # not bound yet
        return None
