"""A web server for tests, on a loopback socket, that fails as real servers do, by a script."""

from .fault_connection import Connection
from .faults import (
    Down,
    Dropped,
    Fault,
    Hang,
    Late,
    Lost,
    Malformed,
    Redirect,
    Reset,
    Slow,
    Status,
    Truncated,
)
from .origin import Origin
from .received import ReceivedRequest
from .served_documents import Answer, Document

__all__ = [
    "Origin",
    "Document",
    "ReceivedRequest",
    "Answer",
    "Status",
    "Reset",
    "Lost",
    "Dropped",
    "Truncated",
    "Slow",
    "Late",
    "Hang",
    "Down",
    "Redirect",
    "Malformed",
    "Fault",
    "Connection",
]
