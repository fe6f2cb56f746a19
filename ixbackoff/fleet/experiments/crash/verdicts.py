"""Whether a service recovers after an outage: one verdict for what is simulated and measured."""

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
    """Whether, in the last quarter of the seconds, 90 % of the requests are answered.

    So it says how the service is. Clients that still wait do not ask, and count for nothing here.

    >>> recovers([0, 0, 40, 99], [99, 99, 99, 0]), recovers([0, 0, 9, 9], [99, 99, 99, 99])
    (True, False)

    Args:
        answered: requests in each second since the outage was over.
        failed: those that failed or took too long.
    """
    well, ill = last_rate(answered), last_rate(failed)
    return well > 0 and well >= SHARE * (well + ill)
