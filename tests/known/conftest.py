"""What takes long here is left out by `make quick`: PostgreSQL, and all clients in one test."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent
LONG = {"test_http_statuses.py", "test_proxies_of_clients.py", "test_tls_of_clients.py"}
"""Modules that ask with each client in each way."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            servers = {"postgresql", "roomy_postgresql"} & {*getattr(item, "fixturenames", ())}
            if servers or item.path.name in LONG:
                item.add_marker(pytest.mark.slow)
