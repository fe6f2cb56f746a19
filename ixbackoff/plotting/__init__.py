"""Pictures of schedules, by the extra `plot` or `python -m ixbackoff.plotting`."""

from .pictures import plot

__all__ = ["plot"]
