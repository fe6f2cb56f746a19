"""Reasons why a run ended, for observers and for the notes on its failure."""

from __future__ import annotations

from typing import Literal, TypeAlias

Reason: TypeAlias = Literal[
    "well",
    "gave up",
    "not worth another try",
    "no time left",
    "budget empty",
    "circuit open",
    "crowded",
    "stopped",
    "asked for too long",
    "misuse",
    "parked",
    "cancelled",
]
"""Why a run ended.

- "well": it succeeded.
- "gave up": it failed; no rung was left, or no step retries, or its retries were switched off.
- "not worth another try": it failed with an exception that `on` does not choose.
- "no time left": its deadline passed, or a wait would not have ended before it.
- "budget empty": the retry budget had no token for another try.
- "circuit open": it failed with `CircuitOpen`: the breaker refused its last try.
- "crowded": it failed with `Crowded`: a gate refused its last try.
- "stopped": it was asked to stop, before its start, in a wait, or in line at a gate.
- "asked for too long": the service or a gate asked for a wait longer than `longest`.
- "misuse": the program has to be changed.
- "parked": it is durable, and no process holds it during its wait; it continues after the wait.
- "cancelled": an exception that is not an `Exception` ended it: cancellation, Ctrl-C, the close of
  a generator. Or its task was cancelled in a try, which turned the cancellation into a failure.
"""
