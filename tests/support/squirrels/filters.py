"""A filter of system calls, as a hardened service has: it ends whoever binds itself to processors.

`python -m tests.support.squirrels.filters WORDS...` runs another module of Python under it.
"""

from __future__ import annotations

import ctypes
import platform
import runpy
import struct
import sys

SET_AFFINITY = {"x86_64": 203, "aarch64": 122}.get(platform.machine())
LOAD, SKIP_UNLESS, RETURN = 0x20, 0x15, 0x06
END_PROCESS, ALLOW = 0x80000000, 0x7FFF0000
NO_NEW_PRIVILEGES, SECCOMP, FILTER = 38, 22, 2


class Program(ctypes.Structure):
    """A program of the Berkeley Packet Filter, as the kernel takes it."""

    _fields_ = (("length", ctypes.c_ushort), ("lines", ctypes.c_char_p))


def keep_filter() -> None:
    """Have this process and its children ended when they bind themselves to processors."""
    assert SET_AFFINITY is not None
    lines = [
        (LOAD, 0, 0, 0),  # the number of the system call
        (SKIP_UNLESS, 0, 1, SET_AFFINITY),
        (RETURN, 0, 0, END_PROCESS),
        (RETURN, 0, 0, ALLOW),
    ]
    packed = b"".join(struct.pack("HBBI", *line) for line in lines)
    program = Program(len(lines), packed)
    system = ctypes.CDLL(None, use_errno=True)
    assert system.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0
    assert system.prctl(SECCOMP, FILTER, ctypes.byref(program), 0, 0) == 0, ctypes.get_errno()


if __name__ == "__main__":
    keep_filter()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
