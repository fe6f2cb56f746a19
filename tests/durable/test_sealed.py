"""What the database stores of a sealed run, and what is shown of secrets."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ixbackoff import N2, Command, Constant, Misuse, NotReady, at
from ixbackoff.durable import Engine, durable, durable_command
from ixbackoff.live import live

from ..support.durable.engines import fails, stuck, until, url_in

Fernet = pytest.importorskip("cryptography.fernet").Fernet
SECRET = "opensaysme"  # noqa: S105


@dataclass(frozen=True)
class Pay(Command[str]):
    url: str
    card: str = field(repr=False)


@durable(name="pay", schedule=Constant(0.2))
def pay(url: str, card: str) -> Any:
    return at(N2).retry(Pay(f"{url}?token={card}", card))


def handlers(*answers: Any) -> Any:
    answer = fails(*answers)
    return live() | Pay.handled_by(lambda command: answer())


def stored(folder: Path) -> str:
    files = folder.glob("runs.sqlite*")
    return "".join(file.read_bytes().decode("latin-1") for file in files)


@pytest.mark.parametrize("hold", [60, 0])
def test_the_database_of_a_sealed_run_has_no_secret(
    hold: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = Fernet(Fernet.generate_key())
    seal = key.encrypt, key.decrypt
    database = url_in(tmp_path)
    outcomes = [NotReady(SECRET), f"paid by {SECRET}"]
    with Engine(handlers(*outcomes), pay, database=database, hold=hold, seal=seal) as engine:
        run = engine.start_with_id("one", pay, "https://localhost/pay", card=SECRET)
        assert run.result() == f"paid by {SECRET}"
        failing = handlers(KeyError(SECRET))
    with Engine(failing, pay, database=database, hold=hold, seal=seal) as engine:
        with pytest.raises(KeyError, match=SECRET):
            engine.start_with_id("two", pay, "https://localhost/pay", SECRET).result()
        assert engine.run("one").result() == f"paid by {SECRET}"
        assert SECRET not in stored(tmp_path)
    with (
        Engine(failing, pay, database=database) as engine,
        pytest.raises(Misuse, match=r"are sealed: give Engine\(..., seal=...\)"),
    ):
        engine.run("one").result()
    for words in (["runs"], ["show", "one"], ["show", "two"]):
        assert durable_command.main(["--database", database, *words]) == 0
    shown = capsys.readouterr().out
    assert SECRET not in shown
    assert "sealed" in shown


def test_a_run_that_is_sealed_waits_for_an_engine_with_its_seal(tmp_path: Path) -> None:
    keys = [Fernet(Fernet.generate_key()) for _ in range(2)]
    database = url_in(tmp_path)
    first = handlers(NotReady())
    seal = keys[0].encrypt, keys[0].decrypt
    with Engine(first, pay, database=database, hold=0, seal=seal) as engine:
        engine.start_with_id("one", pay, "https://localhost", SECRET)
        until(lambda: engine.store.rests("one"))
    other = keys[1].encrypt, keys[1].decrypt
    for wrong in (None, other):
        with Engine(handlers("paid"), pay, database=database, hold=0, seal=wrong) as engine:
            assert "stuck" in stuck(engine, "one")
    with Engine(handlers("paid"), pay, database=database, hold=0, seal=seal) as engine:
        assert engine.run("one").result() == "paid"


def test_secrets_are_not_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "ixbackoff")
    with Engine(handlers(NotReady(), "paid"), pay, database=url_in(tmp_path)) as engine:
        engine.start_with_id("one", pay, "https://localhost/pay", SECRET).result()
    assert SECRET in stored(tmp_path)
    assert durable_command.main(["--database", url_in(tmp_path), "show", "one"]) == 0
    shown = capsys.readouterr().out
    assert "Pay(url='https://localhost/pay?token=...')" in shown
    assert SECRET not in shown + caplog.text
