"""Timings that can shorten a wait: to compare with in simulations. `run` does not take them."""

from .schedules.shortening import (
    DecorrelatedJitter,
    EqualJitter,
    Every,
    FullJitter,
    Jitter,
    RawNormalJitter,
    Shortening,
)

__all__ = [
    "DecorrelatedJitter",
    "EqualJitter",
    "Every",
    "FullJitter",
    "Jitter",
    "RawNormalJitter",
    "Shortening",
]
