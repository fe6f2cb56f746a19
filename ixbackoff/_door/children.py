"""A child process that behaves as if it had been called by the shell: signals, stops, statuses."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import NamedTuple

NOT_EXECUTABLE, NOT_FOUND = 126, 127
ENDED_BY_SIGNAL = 128
ENDS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
"""The signals that tell us to end."""
PASSED_ON = (*ENDS, "SIGUSR1", "SIGUSR2", "SIGTSTP")
STOPS = ("SIGTSTP", "SIGTTIN", "SIGTTOU")
"""The signals by which job control stops a process."""
FROM_TERMINAL = 0x80  # SI_KERNEL: Linux's mark of a signal that the whole foreground has got
GRACE = 5.0  # seconds between SIGTERM and SIGKILL


class ChildEnd(NamedTuple):
    """How a child ended.

    Attributes:
        status: its exit status, or 128 and the number of the signal that ended it.
        ended_by: the signal that ended it, if one did.
        told: the signal that we were to end by, and passed on, if there was one.
        late: true if its time was over.
    """

    status: int
    ended_by: int | None
    told: int | None
    late: bool


class NotStarted(Exception):
    """The command cannot be run; its status is 127 if it was not found, else 126."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


def performed(words: tuple[str, ...], limit: float | None) -> ChildEnd:
    """Run a command to its end; standard input, output and error are ours.

    Signals that would end us are passed on to it. If its terminal stops it, we stop, too. When its
    time is over it is sent SIGTERM, and SIGKILL after five seconds more.

    >>> performed(("sh", "-c", "exit 3"), None).status
    3

    Args:
        words: the command and its arguments; it is looked for in the PATH.
        limit: the seconds that it has; `None` for as long as it takes.

    Raises:
        NotStarted: it cannot be run.
    """
    for ours in signal.SIGCHLD, signal.SIGALRM:
        if signal.getsignal(ours) is signal.SIG_IGN:  # then nobody would know the end
            signal.signal(ours, signal.SIG_DFL)
    watched = {signal.SIGCHLD, signal.SIGALRM, *numbers(PASSED_ON)}
    watched -= {one for one in watched if signal.getsignal(one) is signal.SIG_IGN}
    with blocked(watched) as before:
        child = started(words, before)
        end = None if limit is None else monotonic() + limit
        return Watch(child, watched).ended(end)


def numbers(names: Sequence[str]) -> set[signal.Signals]:
    """The signals of these names."""
    return {signal.Signals[name] for name in names}


@contextmanager
def blocked(watched: set[signal.Signals]) -> Generator[set[signal.Signals]]:
    """Keep signals until they are asked for; those that came meanwhile work at the end."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    try:
        yield {signal.Signals(one) for one in before}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        if signal.SIGALRM in signal.sigpending():
            signal.sigwait({signal.SIGALRM})
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def started(words: tuple[str, ...], mask: set[signal.Signals]) -> int:
    """Start a command with the signals as they were when Python started; its process number.

    Raises:
        NotStarted: it cannot be run.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    defaults = numbers(("SIGPIPE", "SIGXFSZ"))  # Python ignores them
    try:
        return os.posix_spawnp(words[0], words, os.environ, setsigmask=mask, setsigdef=defaults)
    except FileNotFoundError:
        raise NotStarted(NOT_FOUND, f"{words[0]}: command not found") from None
    except OSError as error:
        raise NotStarted(NOT_EXECUTABLE, f"{words[0]}: {error.strerror}") from None
    except ValueError as error:  # a null byte
        raise NotStarted(NOT_FOUND, f"{words[0]!r}: {error}") from None


class Watch:
    """Watches a child until it ends, while the signals in `watched` are blocked."""

    def __init__(self, child: int, watched: set[signal.Signals]) -> None:
        self.child = child
        self.watched = watched
        self.told: int | None = None
        self.late = False

    def ended(self, end: float | None) -> ChildEnd:
        """Wait for the end of the child; at the time `end` it is ended."""
        if end is not None:
            alarm(end - monotonic())
        while (status := self.looked()) is None:
            number, everybody = self.next_signal()
            if number == signal.SIGALRM:
                os.kill(self.child, signal.SIGKILL if self.late else signal.SIGTERM)
                self.late = True
                alarm(GRACE)
            elif number != signal.SIGCHLD:
                if number in numbers(ENDS):
                    self.told = number
                if not everybody:
                    os.kill(self.child, number)
        signalled = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        code = os.WEXITSTATUS(status) if signalled is None else ENDED_BY_SIGNAL + signalled
        return ChildEnd(code, signalled, self.told, self.late)

    def looked(self) -> int | None:
        """Look at the child: how it ended, if it did; if it was stopped, stop as well."""
        child, status = os.waitpid(self.child, os.WNOHANG | os.WUNTRACED)
        if not child:
            return None
        if os.WIFSTOPPED(status):
            if os.WSTOPSIG(status) in numbers(STOPS):
                os.kill(os.getpid(), signal.SIGSTOP)  # until somebody continues us
                os.kill(self.child, signal.SIGCONT)
            return self.looked()
        return status

    def next_signal(self) -> tuple[int, bool]:
        """The next signal, and whether the child has got it from the terminal as we have."""
        if sys.platform == "darwin":
            number = signal.sigwait(self.watched)
            return number, number != signal.SIGTERM and in_foreground()
        told = signal.sigwaitinfo(self.watched)
        return told.si_signo, told.si_code == FROM_TERMINAL


def in_foreground() -> bool:
    """Return true if the keys of a terminal send their signals to us."""
    try:
        with open("/dev/tty", "rb") as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False


def alarm(seconds: float) -> None:
    """Send us SIGALRM after so many seconds."""
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))


def end_by(number: int) -> int:
    """End by a signal, as the child did, so that who called us sees it; the status if we cannot."""
    sys.stdout.flush()
    sys.stderr.flush()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    return ENDED_BY_SIGNAL + number
