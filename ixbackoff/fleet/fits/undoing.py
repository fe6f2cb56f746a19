"""What a queue was given, from what came out of it: the work of each try, if a model is right.

An undoing takes tries, a number of workers, and the seconds of work of the tries that their clients
left, by index: the service completes them, and nobody sees their ends. It returns the work of each
try, and by how much that grows with each second of the try's end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush
from typing import TypeAlias

from .recorded_tries import Try

Undone: TypeAlias = tuple[list[float], list[float]]
Undoing: TypeAlias = Callable[[Sequence[Try], int, dict[int, float]], Undone]


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


def agenda_of(tries: Sequence[Try]) -> list[tuple[float, bool, int]]:
    """Return the times of all ends and begins, whether a try begins, and its index."""
    ends = [(one.ended, False, index) for index, one in enumerate(tries)]
    return sorted([*ends, *((one.begun, True, index) for index, one in enumerate(tries))])


def in_order(tries: Sequence[Try], workers: int, left: dict[int, float]) -> Undone:
    """Undo a queue whose workers take one try at a time, in the order in which the tries came."""
    works, started, waiting = [0.0] * len(tries), dict[int, float](), deque[int]()
    agenda = [event for event in agenda_of(tries) if event[1] or event[2] not in left]
    heapify(agenda)
    while agenda:
        now, begins, index = heappop(agenda)
        if begins:
            waiting.append(index)
        elif index in started:
            works[index] = now - started.pop(index)
        else:  # it ended before its turn: with so few workers it did no work
            waiting.remove(index)
        while waiting and len(started) < workers:
            started[first := waiting.popleft()] = now
            if first in left:
                heappush(agenda, (now + left[first], False, first))
    return works, [1.0] * len(tries)


def shared_evenly(tries: Sequence[Try], cores: int, _: dict[int, float]) -> Undone:
    """Undo cores that all tries share: of n, each gets min(1, cores / n) of a second in one."""
    works, rates, since = [0.0] * len(tries), [1.0] * len(tries), [0.0] * len(tries)
    done, last, count = 0.0, 0.0, 0
    for now, begins, index in agenda_of(tries):
        rate = min(1.0, cores / max(1, count))
        done, last = done + (now - last) * rate, now
        if begins:
            since[index], count = done, count + 1
        else:
            works[index], rates[index], count = done - since[index], rate, count - 1
    return works, rates


def without_queue(tries: Sequence[Try], _: int, __: dict[int, float]) -> Undone:
    return [one.seconds for one in tries], [1.0] * len(tries)


KINDS: dict[str, Undoing] = {"fifo": in_order, "ps": shared_evenly, "none": without_queue}
