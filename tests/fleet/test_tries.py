"""A client that drives its tries itself does what its stream of commands does."""

from __future__ import annotations

from typing import Any

from hypothesis import given

from ..support.fleets.scripted import seen
from ..support.fleets.streams import performed_by, retried_by, some_clients


@given(**some_clients)
def test_a_retry_is_what_its_stream_is(**how: Any) -> None:
    lean = retried_by(**how)
    with performed_by("streams"):
        generic = retried_by(**how)
    assert seen(lean) == seen(generic)
    assert seen(retried_by(**how)) == seen(lean)
