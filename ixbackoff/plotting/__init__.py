"""Pictures of schedules, which need the extra `plot`; `ixbackoff plot` draws them, too."""

from .wait_curves import plot

__all__ = ["plot"]
