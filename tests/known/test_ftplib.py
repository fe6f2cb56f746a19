"""Failures of ftplib against a server that replies by a table."""

from __future__ import annotations

import ftplib
import inspect

import pytest

from ixbackoff import known

from ..support.clients.tries import FOUR_TIMES, tried
from ..support.servers.replies import GREETING, talking


def delete(port: int) -> None:
    with ftplib.FTP(timeout=2.0) as server:  # noqa: S321
        server.connect("127.0.0.1", port)
        server.login("squirrel", "sesame")
        server.delete("acorn")


@pytest.mark.parametrize(
    ("word", "reply", "why"),
    [
        (GREETING, "421 too many clients", ""),
        ("DELE", "450 busy", ""),
        ("DELE", "550 no such file", "ftplib.error_perm 550"),
        ("USER", "530 wrong password", "ftplib.error_perm 530"),
        ("DELE", "150 odd", "ftplib.error_reply 150"),
        ("DELE", "what", "ftplib.error_proto is not known to pass by itself"),
    ],
)
def test_the_reply_decides(word: str, reply: str, why: str) -> None:
    with talking({"USER": "230 well", word: reply}) as talker:
        told = tried(lambda: delete(talker.port))
    assert talker.clients == told.tries == (1 if why else FOUR_TIMES)
    assert told.why == why


def test_each_class_has_a_verdict() -> None:
    passing = {
        name
        for name, kind in inspect.getmembers(ftplib, inspect.isclass)
        if issubclass(kind, ftplib.Error) and known.is_transient(kind.__new__(kind))
    }
    assert passing == {"error_temp"}
