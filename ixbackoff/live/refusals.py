"""Live failures that another try would not help: none of them is tried again by default."""

from __future__ import annotations


class TooLarge(Exception):
    """A download is larger than `Limits.max_size`."""


class RedirectError(Exception):
    """A web server redirects too often, or to nowhere."""


class StoreError(Exception):
    """An object store refuses, for a reason that has no failure of its own."""
