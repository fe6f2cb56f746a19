"""A child process that behaves as if the shell had started it: signals, job control, statuses."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from time import monotonic
from typing import NamedTuple

NOT_EXECUTABLE, NOT_FOUND = 126, 127
ENDED_BY_SIGNAL = 128
ENDS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")  # these ask this process to end
PASSED_ON = (*ENDS, "SIGUSR1", "SIGUSR2", "SIGTSTP")
STOPS = ("SIGTSTP", "SIGTTIN", "SIGTTOU")  # the signals by which job control stops a process
LOST_AFTER = 1.0  # seconds: see `next_signal`
FROM_TERMINAL = 0x80  # SI_KERNEL: Linux's mark of a signal to the whole foreground group
GRACE = 5.0  # seconds between SIGTERM and SIGKILL


class ChildEnd(NamedTuple):
    status: int  # its exit status, or 128 plus the number of the signal that ended it
    ended_by: int | None  # the signal that ended it, if one did
    asked_by: int | None  # the signal that asked this process, and so the child, to end, if one did
    late: bool  # whether its time limit was over


class NotStarted(Exception):
    """A command cannot be run; `status` is 127 if it is not found or has a null byte, else 126."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


def performed(words: tuple[str, ...], limit: float | None) -> ChildEnd:
    """Run a command to its end, with our standard input, output and error.

    The signals in `PASSED_ON` reach the child as well. If the terminal stops the child, this
    process stops as well. After `limit` seconds the child is sent SIGTERM, and SIGKILL five seconds
    later. Raises NotStarted.
    """
    for ours in signal.SIGCHLD, signal.SIGALRM:
        if signal.getsignal(ours) is signal.SIG_IGN:  # if ignored, the status or the limit is lost
            signal.signal(ours, signal.SIG_DFL)
    watched = {signal.SIGCHLD, signal.SIGALRM, *numbers(PASSED_ON)}
    watched -= {one for one in watched if signal.getsignal(one) is signal.SIG_IGN}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    try:
        child = started(words, {signal.Signals(one) for one in before})
        return ended(child, watched, None if limit is None else monotonic() + limit)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        if signal.SIGALRM in signal.sigpending():
            signal.sigwait({signal.SIGALRM})
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def numbers(names: Sequence[str]) -> set[signal.Signals]:
    return {signal.Signals[name] for name in names}


def started(words: tuple[str, ...], mask: set[signal.Signals]) -> int:
    """Start a command with the signal mask `mask`; reset the signals that Python ignores."""
    sys.stdout.flush()
    sys.stderr.flush()
    defaults = numbers(("SIGPIPE", "SIGXFSZ"))
    try:
        return os.posix_spawnp(words[0], words, os.environ, setsigmask=mask, setsigdef=defaults)
    except FileNotFoundError:
        raise NotStarted(NOT_FOUND, f"{words[0]}: command not found") from None
    except OSError as error:
        raise NotStarted(NOT_EXECUTABLE, f"{words[0]}: {error.strerror}") from None
    except ValueError as error:  # a null byte
        raise NotStarted(NOT_FOUND, f"{words[0]!r}: {error}") from None


def ended(child: int, watched: set[signal.Signals], end: float | None) -> ChildEnd:
    """Wait for a child; end it at `end`, a time of the monotonic clock."""
    asked_by: int | None = None
    late = False
    if end is not None:
        alarm(end - monotonic())
    while (status := polled(child)) is None:
        number, whole_group = next_signal(watched) or (signal.SIGCHLD, True)
        if number == signal.SIGALRM and end is not None and monotonic() >= end:
            os.kill(child, signal.SIGKILL if late else signal.SIGTERM)
            late = True
            alarm(GRACE)
        elif number != signal.SIGCHLD:
            if number in numbers(ENDS):
                asked_by = number
            if not whole_group:
                os.kill(child, number)
    signalled = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
    code = os.WEXITSTATUS(status) if signalled is None else ENDED_BY_SIGNAL + signalled
    return ChildEnd(code, signalled, asked_by, late)


def polled(child: int) -> int | None:
    """Return a child's wait status if it has ended; if job control stops it, stop this process."""
    changed, status = os.waitpid(child, os.WNOHANG | os.WUNTRACED)
    if not changed:
        return None
    if os.WIFSTOPPED(status):
        if os.WSTOPSIG(status) in numbers(STOPS):
            os.kill(os.getpid(), signal.SIGSTOP)  # until SIGCONT
            os.kill(child, signal.SIGCONT)
        return polled(child)
    return status


def next_signal(watched: set[signal.Signals]) -> tuple[int, bool] | None:
    """Return the next signal, and whether the terminal sent it to the child as well.

    On Linux, return `None` after a second without a signal, because another thread, which does not
    block SIGCHLD, may have taken that signal. macOS has no wait with a time limit.
    """
    if sys.platform == "darwin":
        number = signal.sigwait(watched)
        return number, number != signal.SIGTERM and in_foreground()
    info = signal.sigtimedwait(watched, LOST_AFTER)
    return None if info is None else (info.si_signo, info.si_code == FROM_TERMINAL)


def in_foreground() -> bool:
    """Return whether this process is in the terminal's foreground group, which gets its signals."""
    try:
        with open("/dev/tty", "rb") as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False


def alarm(seconds: float) -> None:
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))


def end_by(number: int) -> int:
    """End this process by the signal that ended its child; if it survives, return a status."""
    sys.stdout.flush()
    sys.stderr.flush()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    return ENDED_BY_SIGNAL + number
