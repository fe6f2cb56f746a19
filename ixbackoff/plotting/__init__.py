"""Pictures of schedules; the extra `plot`. On the command line: `python -m ixbackoff.plotting`."""

from .pictures import plot

__all__ = ["plot"]
