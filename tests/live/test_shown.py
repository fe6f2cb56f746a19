"""Showing what others have said: nothing that a terminal obeys, and no line of their own."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import N0, Download, Log, Upload, at, call, call_async
from ixbackoff._words.printable_text import printable
from ixbackoff._words.standard_commands import without_secrets
from ixbackoff.testing.web import Malformed, Origin

from ..support.ways.live import Way, each_way

OBEYED = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u200b-\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
BAD = "\x1b[31m\x9b2J\u202e\r\nWARNING forged\u2028"


@given(st.text(st.characters()))
def test_nothing_that_is_printable_is_obeyed(text: str) -> None:
    shown = printable(text)
    assert not OBEYED.search(shown)
    assert len(shown.splitlines()) <= 1
    assert printable(shown) == shown


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"])))
def test_what_is_not_obeyed_stays_as_it_is(text: str) -> None:
    assert printable(text) == text


@given(st.text(st.characters()))
def test_a_url_is_shown_in_one_line(text: str) -> None:
    assert not OBEYED.search(without_secrets(f"https://localhost/{text}"))


@each_way
def test_a_log_is_one_line(way: Way, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    way.run(at(N0).do(Log(f"ready{BAD}")))
    assert caplog.messages == [
        "ready\\x1b[31m\\x9b2J\\u202e\\r\\nWARNING forged\\u2028",
    ]


@each_way
def test_a_reason_phrase_is_not_repeated(
    way: Way, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    head = b"HTTP/1.1 200 \x1b[31mforged\x9b2J\r\nContent-Length: 5\r\n\r\nacorn"
    with Origin({"/a": b""}, {"GET /a": [Malformed(head)]}) as origin:
        way.perform(Download(f"{origin.url}/a", str(tmp_path / "a")))
    assert any("200" in message for message in caplog.messages)
    assert not OBEYED.search(caplog.text.replace("\n", ""))
    assert "forged" not in caplog.text


@each_way
def test_errors_are_one_line(way: Way, tmp_path: Path) -> None:
    odd = "\x9b2J\u202e\u2028"
    with Origin({}) as origin, pytest.raises(Exception, match="404") as caught:
        way.perform(Download(f"{origin.url}/a{odd}", str(tmp_path / "a")))
    for text in (str(caught.value), *caught.value.__notes__):
        assert not OBEYED.search(text)
    for url in (f"ftp://localhost/{BAD}", f"{BAD}://localhost/a", f"http://localhost/{BAD}"):
        with pytest.raises(ValueError, match="give") as refused:
            way.perform(Download(url, str(tmp_path / "a")))
        assert not OBEYED.search(str(refused.value))
        with pytest.raises(ValueError, match="give") as refused:
            way.perform(Upload(__file__, url))
        assert not OBEYED.search(str(refused.value))


def connect(url: str, password: str = "") -> str:
    return url + password


async def connect_async(url: str, password: str = "") -> str:
    return url + password


@pytest.mark.parametrize(
    "shown",
    [
        repr(call(connect, "postgresql+psycopg://me:open/sesame@localhost:5432/nuts")),
        repr(call(connect, "postgresql://localhost", password="sesame")),  # noqa: S106
        repr(call(connect, url="https://sesame@localhost")),
        repr(call(lambda urls: urls, ["redis://:sesame@localhost"])),
        repr(call_async(connect_async, "amqp://me:sesame@localhost", password="sesame")),  # noqa: S106
        repr(Download("https://me:sesame@localhost", "a")),
        repr(Upload("a", "s3://me:sesame@localhost/a")),
    ],
)
def test_the_password_of_an_argument_is_not_shown(shown: str) -> None:
    assert "sesame" not in shown
    assert "localhost" in shown


def test_other_arguments_are_shown_as_they_are() -> None:
    assert repr(call(pow, 2, 5)) == "call(pow, 2, 5)"
    assert repr(call(connect, "me@localhost")) == "call(connect, 'me@localhost')"
