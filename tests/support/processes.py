"""A process of a test, which ends when its test fails."""

from __future__ import annotations

import subprocess
from typing import AnyStr


class Child(subprocess.Popen[AnyStr]):
    """A `Popen` whose block kills the process before it waits for it, if the block fails.

    Else a failed assertion waits for a process that nobody ends, and hides what failed.
    """

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if error is not None:
            self.kill()
        super().__exit__(None, None, None)
