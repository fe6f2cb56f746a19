"""A web server for tests, on a loopback socket, that fails as real servers do, by a script.

Import it by its own name: `ixbackoff.testing` does not load it.
"""

from .answers import Answer
from .connections import Connection
from .documents import Document
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
from .requests import Request

__all__ = [
    "Origin",
    "Document",
    "Request",
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
