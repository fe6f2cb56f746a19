"""The programs of the page on frameworks, each run by its framework."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest

from ixbackoff.testing.web import Hang, Origin, Status

pytestmark = pytest.mark.filterwarnings("ignore")  # those of frameworks about themselves
PAGE = Path(__file__).parents[2] / "docs" / "howto" / "frameworks.md"
BUSY = Status(503)


def text(name: str) -> str:
    page = PAGE.read_text()
    [found] = re.findall(rf"^```python {name}\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    return str(found)


def program(name: str) -> dict[str, Any]:
    """Run a program of the page, and return its names."""
    names: dict[str, Any] = {"__name__": name.removesuffix(".py")}
    exec(compile(text(name), name, "exec", dont_inherit=True), names)  # noqa: S102
    return names


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep frameworks from writing into the home of the user."""
    for name in ("HOME", "PREFECT_HOME", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path))


@pytest.fixture
def origin(monkeypatch: pytest.MonkeyPatch) -> Iterator[Origin]:
    """A service that is busy at first, one that stays so, and one that hangs."""
    faults: Any = {"/walden": [BUSY, BUSY], "/dune": repeat(BUSY), "/slow": repeat(Hang())}
    with Origin({"/walden": b"12", "/dune": b"9"}, faults) as served:
        monkeypatch.setenv("PRICES", served.url)
        yield served


def requests_of(origin: Origin, path: str) -> int:
    return sum(request.path == path for request in origin.requests)


def test_fastapi(origin: Origin) -> None:
    from fastapi.testclient import TestClient

    with TestClient(program("web.py")["app"]) as client:
        assert (client.get("/prices/walden").text, requests_of(origin, "/walden")) == ("12", 3)
        assert (client.get("/prices/dune").status_code, requests_of(origin, "/dune")) == (503, 4)
        assert (client.get("/prices/lost").status_code, requests_of(origin, "/lost")) == (502, 1)
        assert client.get("/prices/slow").status_code == 503


@pytest.mark.parametrize("task", ["fetch", "fetch_later"])
def test_celery(task: str, origin: Origin, monkeypatch: pytest.MonkeyPatch) -> None:
    from celery.contrib.testing.worker import start_worker

    monkeypatch.setenv("BROKER", "memory://")
    names = program("tasks.py")
    names["waits"][:] = [0.1, 0.2, 0.4]
    with start_worker(names["app"], pool="solo", perform_ping_check=False):
        assert names[task].delay(f"{origin.url}/walden").get(timeout=20) == "12"
        assert requests_of(origin, "/walden") == 3
        with pytest.raises(Exception, match=r"^$"):  # Celery keeps the class only
            names[task].delay(f"{origin.url}/dune").get(timeout=20)
        assert requests_of(origin, "/dune") == (3 if task == "fetch" else 4)
        with pytest.raises(Exception, match=r"^$"):
            names[task].delay(f"{origin.url}/lost").get(timeout=20)
        assert requests_of(origin, "/lost") == 1


def test_django(tmp_path: Path) -> None:
    import django
    from django.conf import settings
    from django.db import connection

    path = tmp_path / "orders.db"
    database = {"ENGINE": "django.db.backends.sqlite3", "NAME": path, "OPTIONS": {"timeout": 0}}
    settings.configure(DATABASES={"default": database})
    django.setup()
    order = program("orders.py")["order"]
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE orders (nuts INT)")
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    asked: list[str] = []

    def released(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        asked.append(sql.partition(" ")[0])
        if asked.count("BEGIN") == 3:
            holder.rollback()
        return execute(sql, params, many, context)

    with connection.execute_wrapper(released):
        order(12)
    assert asked == ["BEGIN", "INSERT"] * 3
    assert holder.execute("SELECT nuts FROM orders").fetchall() == [(12,)]
    holder.close()
    connection.close()


def test_prefect(origin: Origin) -> None:
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=60):
        names = program("flows.py")
        [fetched, later] = names["prices"](f"{origin.url}/walden")
        assert (fetched, later, requests_of(origin, "/walden")) == ("12", "12", 4)
        with pytest.raises(Exception, match="404"):
            names["fetch_later"](f"{origin.url}/lost")
        assert requests_of(origin, "/lost") == 1


def test_a_notebook(origin: Origin) -> None:
    from nbclient import NotebookClient
    from nbformat.v4 import new_code_cell, new_notebook

    notebook = new_notebook(cells=[new_code_cell(text("notebook.py"))])
    NotebookClient(notebook, timeout=60).execute()
    [cell] = notebook.cells
    said = [output.get("text", "") for output in cell.outputs]
    assert "price: try 1 of 4 failed" in said[0]
    assert cell.outputs[-1]["data"]["text/plain"] == "12"
    assert requests_of(origin, "/walden") == 3
