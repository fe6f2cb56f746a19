"""How many connections a process may have, and who ends when its parent does."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys

SPARE = 64  # for everything that is no connection
ENOUGH = 65_536
PR_SET_PDEATHSIG = 1


def connections() -> int:
    """How many connections this process may have now; its soft limit is raised to the hard one.

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

    Linux has this; elsewhere nothing happens. The answer is whether `parent` is still there.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    return os.getppid() == parent
