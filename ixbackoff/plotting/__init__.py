"""Pictures of schedules, by the extra `plot` or `ixbackoff plot`."""

from .pictures import plot

__all__ = ["plot"]
