"""Locks of open files, which end with the process that holds them."""

from __future__ import annotations

try:
    import fcntl
except ModuleNotFoundError:  # on Windows
    import portalocker

    def lock(descriptor: int) -> None:
        """Do what is said below, by a library."""
        flags = portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING
        try:
            portalocker.lock(descriptor, flags)
        except portalocker.AlreadyLocked as error:
            raise BlockingIOError(f"{error}") from None
        except portalocker.LockException as error:
            raise OSError(f"{error}") from None

else:

    def lock(descriptor: int) -> None:
        """Lock an open file, or fail at once.

        Raises:
            BlockingIOError: another one has locked it.
            OSError: nothing can be locked here.
        """
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
