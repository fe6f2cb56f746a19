"""`Channel`: a shared channel on which overlapping transmissions are lost."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from ..._words.checks import above_zero
from ..._words.failure_classes import Transient
from ..event_queue import Events
from .service import Request, Service, Serving, check_whole


class Collided(Transient):
    """A transmission was lost because another one overlapped it."""


SHORTER = 1e-6  # the share by which a frame is shorter than a slot: it ends before the next slot


@dataclass(frozen=True)
class Channel(Service):
    """A channel without carrier sensing, as in the Aloha network.

    Transmissions that overlap are all lost; a sender notices the loss when its transmission ends.
    In a slotted channel a transmission begins with the next slot. If G transmissions per frame
    begin at random times, G * exp(-2 * G) per frame succeed, at most 0.1839; in a slotted channel
    G * exp(-G), at most 0.3679 (Abramson 1970, Roberts 1975).

    >>> from ixbackoff import N0, Command, at
    >>> from ixbackoff.fleet import Channel, simulate
    >>> class Send(Command[None]):
    ...     __slots__ = ()
    >>> once, channel = at(N0).do(Send()).end(), Channel(0.01).serves(Send)
    >>> simulate(once, channel, clients=1, seconds=1).total(lambda second: second.well)
    1
    >>> simulate(once, channel, clients=2, seconds=1).total(lambda second: second.well)
    0

    An outage loses every transmission that it overlaps.

    Attributes:
        frame: the seconds of a transmission.
        slotted: whether transmissions begin with slots, each as long as a frame.

    Raises:
        ValueError: `frame` is not above 0.
    """

    frame: float
    slotted: bool = False

    def __post_init__(self) -> None:
        above_zero("frame", self.frame)

    def begin(self, events: Events) -> Serving:
        return _Channel(self, events)


class _Channel(Serving):
    def __init__(self, model: Channel, events: Events) -> None:
        self.model = model
        self.events = events
        self.begun = 0  # transmissions and outages so far
        self.alone: dict[Request, int] = {}  # request sent in an idle channel -> `begun` after that
        self.sending = 0
        self.stopped = False

    def ask(self, request: Request) -> None:
        now, frame = self.events.now, self.model.frame
        if self.model.slotted:
            self.events.at(max(now, ceil(now / frame) * frame), self.send, request)
        else:
            self.send(request)

    def send(self, request: Request) -> None:
        self.begun += 1
        if not self.sending and not self.stopped:
            self.alone[request] = self.begun
        self.sending += 1
        self.events.after(self.model.frame * (1 - SHORTER), self.sent, request)

    def sent(self, request: Request) -> None:
        self.sending -= 1
        if self.alone.pop(request, 0) == self.begun:
            request.answer()
        else:
            request.fail(Collided())

    def set_speed(self, speed: float) -> None:
        check_whole(self, speed)
        self.stopped = not speed
        self.begun += self.stopped

    def load(self) -> float:
        return self.sending
