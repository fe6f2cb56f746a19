"""A fleet: many clients that run one program against modelled services, in virtual time."""

from .answers import Answering
from .disks import Disk
from .intermediate import Layer, Metered
from .outcomes import Outcome, Second
from .post import PostServer
from .queues import BoundedQueue
from .rows import Row
from .schedulers import Scheduler
from .servers import SingleThreaded
from .services import Request, Served, Service, Serving, instantly
from .simulation import Outage, simulate
from .traces import Happened

__all__ = [
    "simulate",
    "Outage",
    "Outcome",
    "Second",
    "Happened",
    "Service",
    "Serving",
    "Request",
    "Served",
    "instantly",
    "BoundedQueue",
    "PostServer",
    "Row",
    "Disk",
    "SingleThreaded",
    "Scheduler",
    "Layer",
    "Metered",
    "Answering",
]
