"""A process of a test, which ends when its test fails."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from subprocess import Popen as Child  # its overloads decide between text and bytes
else:

    class Child(subprocess.Popen):
        """A `Popen` whose block kills the process before it waits for it, if the block fails.

        Else a failed assertion waits for a process that nobody ends, and hides what failed.
        """

        def __exit__(self, kind: object, error: object, traceback: object) -> None:
            if error is not None:
                self.kill()
            super().__exit__(None, None, None)


__all__ = ["Child"]
