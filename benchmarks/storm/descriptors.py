"""Limits of the system on connections, and an end together with the parent process."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys

SPARE = 64  # descriptors for everything else
ENOUGH = 65_536
PR_SET_PDEATHSIG = 1


def connections() -> int:
    """Raise the soft limit of connections; return the number that this process may have.

    >>> connections() > 0
    True
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = ENOUGH if hard == resource.RLIM_INFINITY else min(hard, ENOUGH)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return max(1, (ENOUGH if soft == resource.RLIM_INFINITY else soft) - SPARE)


def end_with(parent: int) -> bool:
    """Let the kernel end this process, stopped or not, when the process `parent` ends.

    Only Linux can do that. Returns whether `parent` is still alive.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    return os.getppid() == parent
