"""A squirrel after a restart of the machine.

`python -m tests.support.kills.restarted START MISTAKE WORDS...` runs the squirrel's command line.
START is what tells this start of the machine from others, and MISTAKE is the name of one that the
squirrel has, or nothing.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace
from unittest.mock import patch

from ixbackoff._running import boot_clock
from ixbackoff.squirrel.squirrel_command import main

from .mutated import MISTAKES

if __name__ == "__main__":
    _, start, mistake, *words = sys.argv
    patch.object(boot_clock, "BOOT_ID", SimpleNamespace(read_text=lambda: start)).start()
    if mistake:
        MISTAKES[mistake]()
    sys.exit(main(words))
