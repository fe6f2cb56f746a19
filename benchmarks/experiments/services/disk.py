"""`Disk`: a disk that fills up; a writer that finds no room fails and loses its file."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from ixbackoff import Command, Transient
from ixbackoff.fleet import Events, Request, Service, Serving, Sharing


class DiskFull(Transient):
    """A writer found the disk full; its unfinished file is deleted."""


@dataclass(frozen=True)
class WriteFile(Command[None]):
    """Write a file of a random size; a retry writes the same size."""


class Space(NamedTuple):
    """The space on a disk."""

    free: float  # MB
    unfinished: int  # the number of unfinished files
    mean: float  # the mean MB of the written files


@dataclass(frozen=True)
class FreeSpace(Command[Space]):
    """Measure the space on the disk: the paper's carrier sensing."""


def ignore(megabytes: float) -> None:
    """Ignore the consumed file."""


@dataclass(frozen=True)
class Disk(Service):
    """A disk with writers, and a consumer that reads files and then deletes them.

    Writers and consumer share the disk's speed evenly. When the disk is full, a random writer
    fails, and its unfinished file is deleted.

    The capacity, the sizes and the consumer's speed are those of "The Ethernet Approach to Grid
    Computing" (Thain and Livny, HPDC 2003). The paper does not give the disk's speed or the cost of
    creating a file. With the defaults of both, 50 producers slow the consumer as in the paper.

    >>> Disk().share(4, reading=True), Disk().share(49, reading=True)
    (2.25, 0.2)

    Attributes:
        capacity: the size of the disk, MB.
        largest: the size of the largest file, MB; sizes are uniform between 0 and this.
        reads: the MB per second that the consumer reads at most.
        speed: the MB per second that the disk reads and writes in all.
        creates: the cost of creating a file: the MB that the disk could write in the same time.
        consumed: called with the MB of each file that was read and deleted.
    """

    capacity: float = 120.0
    largest: float = 1.0
    reads: float = 1.0
    speed: float = 10.0
    creates: float = 0.75
    consumed: Callable[[float], object] = ignore

    def share(self, writers: int, reading: bool) -> float:
        """Return the MB per second of each writer, with or without the consumer `reading`."""
        if not reading:
            return self.speed / writers
        return max(self.speed / (writers + 1), (self.speed - self.reads) / writers)

    def begin(self, events: Events) -> Serving:
        return _Disk(self, events)


class _Disk(Serving):
    def __init__(self, model: Disk, events: Events) -> None:
        self.model = model
        self.events = events
        self.sizes: dict[int, float] = {}  # the size of each client's current file
        self.stored: deque[float] = deque()  # the sizes of written files, the oldest first
        self.used = 0.0  # the MB of the written files
        self.files, self.megabytes = 0, 0.0  # written since the beginning, deleted files included
        self.creating: Sharing[Request] = Sharing(events, self.share, self.created)
        self.writing: Sharing[Request] = Sharing(events, self.share, self.written)
        self.reading: Sharing[float] = Sharing(events, self.reader, self.read)
        self.plan = 0  # the newest planned `full`; earlier ones are ignored

    def ask(self, request: Request) -> None:
        if isinstance(request.command, FreeSpace):
            mean = self.megabytes / self.files if self.files else self.model.largest / 2
            request.answer(Space(self.free(), self.writers(), mean))
        else:
            if request.client not in self.sizes:
                size = self.events.random.uniform(0.0, self.model.largest)
                self.sizes[request.client] = size
            self.creating.begin(request, self.model.creates)
            self.changed()

    def abandoned(self, request: Request) -> None:
        self.creating.leave(request)
        self.writing.leave(request)
        self.changed()

    def created(self, request: Request) -> None:
        self.writing.begin(request, self.sizes[request.client])
        self.changed()

    def written(self, request: Request) -> None:
        size = self.sizes.pop(request.client)
        self.used += size
        self.files += 1
        self.megabytes += size
        self.stored.append(size)
        self.read_on()
        self.changed()
        request.answer()

    def full(self, plan: int) -> None:
        if plan == self.plan:
            request = self.events.random.choice([*self.writing])
            self.writing.leave(request)
            self.changed()
            request.fail(DiskFull())

    def read_on(self) -> None:
        if self.stored and not self.reading:
            self.reading.begin(self.stored[0], self.stored[0])

    def read(self, size: float) -> None:
        self.stored.popleft()
        self.used -= size
        self.model.consumed(size)
        self.read_on()
        self.changed()

    def changed(self) -> None:
        """Recompute all speeds, and when the disk will be full."""
        self.creating.changed()
        self.writing.changed()
        self.reading.changed()
        self.plan += 1
        if self.writing:
            filling = len(self.writing) * self.share()
            self.events.after(max(self.free(), 0.0) / filling, self.full, self.plan)

    def free(self) -> float:
        return self.model.capacity - self.used - self.writing.total()

    def writers(self) -> int:
        return len(self.creating) + len(self.writing)

    def share(self, _: int = 0) -> float:
        return self.model.share(self.writers(), bool(self.reading))

    def reader(self, _: int) -> float:
        return min(self.model.reads, self.model.speed / (self.writers() + 1))

    def load(self) -> float:
        return self.model.capacity - self.free()
