"""A fleet: many clients that run one program against modelled services, in virtual time."""

from .._running.traces import Performed
from .answers import Answering
from .channel import Channel
from .experiments.blackhole.servers import SingleThreaded
from .experiments.buffer.disk import Disk
from .experiments.contention.row import Row
from .experiments.submissions.scheduler import Scheduler
from .intermediate import Layer, Metered
from .many import simulate_many
from .outcomes import Outcome, Second
from .queues import BoundedQueue
from .samples import Sample
from .seeds import each_seed
from .services import Request, Served, Service, Serving, instantly
from .simulation import Outage, simulate
from .slowing import SlowingServer

__all__ = [
    "simulate",
    "simulate_many",
    "each_seed",
    "Sample",
    "Outage",
    "Outcome",
    "Second",
    "Performed",
    "Service",
    "Serving",
    "Request",
    "Served",
    "instantly",
    "BoundedQueue",
    "SlowingServer",
    "Channel",
    "Row",
    "Disk",
    "SingleThreaded",
    "Scheduler",
    "Layer",
    "Metered",
    "Answering",
]
