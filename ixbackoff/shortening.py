"""Timings that can shorten waits, to compare with in simulations; `run` refuses them."""

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
