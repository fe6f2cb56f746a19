"""Pictures of schedules, which need the extra `plot`; `ixbackoff plot` draws them, too."""

from .pictures import plot

__all__ = ["plot"]
