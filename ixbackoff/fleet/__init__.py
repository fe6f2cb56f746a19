"""A fleet: many clients that run one program against modelled services, in virtual time."""

from .outcomes import Outcome, Second
from .queues import BoundedQueue
from .services import Request, Served, Service, Serving, instantly
from .simulation import Outage, simulate

__all__ = [
    "BoundedQueue",
    "Outage",
    "Outcome",
    "Request",
    "Second",
    "Served",
    "Service",
    "Serving",
    "instantly",
    "simulate",
]
