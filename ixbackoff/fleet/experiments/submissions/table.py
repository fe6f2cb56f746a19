"""The jobs that were taken, as text."""

from __future__ import annotations

from collections.abc import Sequence

from ...seeded import Numbers
from .model import Submissions


def table(results: Sequence[Submissions]) -> str:
    """A table of the results of `submissions`: the jobs that were taken.

    >>> from ixbackoff.fleet.experiments.submissions.model import submissions
    >>> print(table(submissions([2], seconds=10)))
    submitters   fixed   aloha  ethernet
             2      11      11        11
    """
    jobs = {(one.submitters, one.kind): one.jobs for one in results}
    lines = [
        f"{many:10}  {jobs[many, 'fixed']:6}  {jobs[many, 'aloha']:6}  {jobs[many, 'ethernet']:8}"
        for many in dict.fromkeys(one.submitters for one in results)
    ]
    return "\n".join(["submitters   fixed   aloha  ethernet", *lines])


def numbers(results: Sequence[Submissions]) -> Numbers:
    """The numbers of `submissions` that depend on the seed."""
    return {f"{one.submitters:10}  {one.kind:8}  jobs": one.jobs for one in results}
