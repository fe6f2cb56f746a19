"""Retry budgets, one for each origin, shared by all jobs that ask it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from threading import Lock
from urllib.parse import urlsplit

from .._limits.budgets import RetryBudget
from .commands import Resource

FULL = RetryBudget.botocore().left


class Budgets:
    """The retry budgets of origins that fail, so that many jobs do not hammer one of them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._budgets: dict[str, RetryBudget] = {}
        self._users: dict[str, int] = {}

    @contextmanager
    def of(self, resource: Resource) -> Generator[RetryBudget]:
        """Give the budget of a resource's origin; one that is full and unused is forgotten."""
        origin = urlsplit(resource.url).netloc.rpartition("@")[2].lower()
        with self._lock:
            budget = self._budgets.get(origin)
            if budget is None:
                budget = self._budgets[origin] = RetryBudget.botocore()
            self._users[origin] = self._users.get(origin, 0) + 1
        try:
            yield budget
        finally:
            with self._lock:
                self._users[origin] -= 1
                if not self._users[origin]:
                    del self._users[origin]
                    if budget.left >= FULL:
                        del self._budgets[origin]
