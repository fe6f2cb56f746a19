"""The current command of a durable run, and its idempotency key."""

from __future__ import annotations

import hashlib
from contextvars import ContextVar
from typing import NamedTuple

from .command_digests import DIGITS, CommandDigest


class CurrentCommand(NamedTuple):
    """The command that a handler performs in a durable run.

    Attributes:
        idempotency_key: a key for the header Idempotency-Key. In a step `.retry` or `.resume`, all
            tries of a command have the same key, before and after a crash; no other command has it.
        repeated: whether this try may have been performed before, perhaps by a process that died.
        place: the run and the place of this try, for a log.
    """

    idempotency_key: str
    repeated: bool
    place: str


CURRENT: ContextVar[CurrentCommand | None] = ContextVar("ixbackoff_current_command", default=None)


def current_command() -> CurrentCommand | None:
    """Return the command that the caller, a handler of a durable run, performs; elsewhere `None`.

    >>> from ixbackoff.durable import current_command
    >>> print(current_command())
    None
    """
    return CURRENT.get()


def idempotency_key(run: str, seed: int, first_try: str, digest: CommandDigest) -> str:
    """Return the key that all tries of a command share, see `journal.Line.first_try`."""
    text = f"{seed} {first_try} {digest.kind} {digest.digest}"
    return f"{run}:{hashlib.sha256(text.encode()).hexdigest()[:DIGITS]}"
