"""The seconds of work of each try, computed from the times of all tries, for each kind of queue.

Each function of KINDS undoes a queue. Its arguments are tries, a number of workers, and the work of
abandoned tries by their index: the service completes these, too, but no client sees when. The
function returns the work of each try, and how much this work grows if the try ends 1 s later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from heapq import heappop, heappush, heapreplace
from typing import TypeAlias

from .recorded_tries import Try

Undone: TypeAlias = tuple[list[float], list[float]]


def crowded(tries: Sequence[Try], refused: Sequence[str]) -> list[Try]:
    """Return the tries with the number of others that the service held when each began."""
    ends, counted = list[float](), list[Try]()
    for one in tries:
        while ends and ends[0] <= one.begun:
            heappop(ends)
        counted.append(one._replace(there=len(ends)))
        if not one.failed_with(refused):
            heappush(ends, one.ended)
    return counted


def in_order(tries: Sequence[Try], workers: int, left: Mapping[int, float]) -> Undone:
    """Undo a queue whose workers take one try at a time, in the order in which the tries came.

    A try begins when a worker is free. If `workers` is too small, some works are negative.
    """
    works, free = list[float](), [0.0] * workers
    for index, one in enumerate(tries):
        start = max(one.begun, free[0])
        works.append(one.ended - start)
        heapreplace(free, start + left[index] if index in left else one.ended)
    return works, [1.0] * len(tries)


def shared_evenly(tries: Sequence[Try], cores: int, _: Mapping[int, float]) -> Undone:
    """Undo cores that all tries share: each of n tries has the speed min(1, cores / n)."""
    works, rates, since = ([0.0] * len(tries) for _ in range(3))
    ends = [(one.ended, -1, index) for index, one in enumerate(tries)]
    begins = [(one.begun, 1, index) for index, one in enumerate(tries)]
    done, last, count = 0.0, 0.0, 0
    for now, change, index in sorted(ends + begins):
        rate = min(1.0, cores / max(1, count))
        done, last, count = done + (now - last) * rate, now, count + change
        if change > 0:
            since[index] = done
        else:
            works[index], rates[index] = done - since[index], rate
    return works, rates


KINDS: dict[str, Callable[[Sequence[Try], int, Mapping[int, float]], Undone]] = {
    "fifo": in_order,
    "ps": shared_evenly,
    "none": lambda tries, _workers, _left: ([one.seconds for one in tries], [1.0] * len(tries)),
}
