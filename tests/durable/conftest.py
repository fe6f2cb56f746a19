"""Durable runs wait for databases and for dead workers, so `make quick` leaves most of them out."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent
QUICK = {"test_bad_input", "test_codec", "test_goes_on"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents and item.path.stem not in QUICK:
            item.add_marker(pytest.mark.slow)
