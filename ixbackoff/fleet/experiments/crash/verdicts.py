"""The verdict whether a service recovers: the same for simulations and measurements."""

from __future__ import annotations

from collections.abc import Sequence

SHARE = 0.9
LAST = 0.25


def last_rate(counts: Sequence[float]) -> float:
    """The mean per second, in the last quarter of the seconds.

    >>> last_rate([0, 0, 40, 99])
    99.0
    """
    last = counts[-max(1, round(len(counts) * LAST)) :]
    return sum(last) / max(1, len(last))


def recovers(answered: Sequence[float], failed: Sequence[float]) -> bool:
    """Return true if 90 % of the requests are answered in the last quarter of the seconds.

    The verdict is on the service. Clients that still wait send no requests, and do not count.

    >>> recovers([0, 0, 40, 99], [99, 99, 99, 0]), recovers([0, 0, 9, 9], [99, 99, 99, 99])
    (True, False)

    Args:
        answered: requests in each second since the outage was over.
        failed: those that failed or took too long.
    """
    well, ill = last_rate(answered), last_rate(failed)
    return well > 0 and well >= SHARE * (well + ill)
