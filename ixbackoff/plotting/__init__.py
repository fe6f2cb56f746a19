"""Pictures of schedules; the extra `plot`. On the command line: `python -m ixbackoff.plotting`."""

from .pictures import draw

__all__ = ["draw"]
