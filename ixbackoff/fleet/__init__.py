"""A fleet: many clients that run one program against modelled services, in virtual time."""

from .._running.traces import Performed
from .._words.wrong_arguments import explain_arguments
from .event_queue import Events
from .lost_capacity import Outage
from .seed_results import Sample
from .seed_sweep import each_seed
from .services.answering_service import Answering
from .services.bounded_queue import BoundedQueue
from .services.collision_channel import Channel
from .services.equal_speed_sharing import Sharing
from .services.layer import Layer, Metered
from .services.processor_sharing import ProcessorSharing
from .services.service import Request, Served, Service, Serving, instantly
from .services.slowing_server import SlowingServer
from .services.work import ExponentialWork, LogNormalWork
from .simulation import simulate, simulate_many
from .simulation_outcome import Outcome, Second

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
    "Events",
    "Request",
    "Served",
    "instantly",
    "BoundedQueue",
    "ProcessorSharing",
    "Sharing",
    "ExponentialWork",
    "LogNormalWork",
    "SlowingServer",
    "Channel",
    "Layer",
    "Metered",
    "Answering",
]

explain_arguments(globals(), ("simulate", "simulate_many", "each_seed", "BoundedQueue", "Layer"))
explain_arguments(globals(), ("SlowingServer", "instantly"))
