"""Published schedules, by their names."""

from .schedules.published import (
    NormalJitter,
    WholeSeconds,
    aws_polling,
    fault_tolerant_shell,
    post_blue,
    post_green,
    thain,
)

__all__ = [
    "NormalJitter",
    "WholeSeconds",
    "aws_polling",
    "fault_tolerant_shell",
    "post_blue",
    "post_green",
    "thain",
]
