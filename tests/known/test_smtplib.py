"""Failures of smtplib against a server that speaks SMTP and replies by a table."""

from __future__ import annotations

import inspect
import smtplib
import socket

import pytest

from ixbackoff import known

from ..support.clients.tries import FOUR_TIMES, Tried, tried
from ..support.servers.replies import DROP, GREETING, HANG, MAIL, talking

AUTHENTICATION = "250-here\r\n250 AUTH PLAIN"


def send(port: int, *recipients: str, timeout: float = 20.0) -> None:
    with smtplib.SMTP("127.0.0.1", port, local_hostname="oak", timeout=timeout) as server:
        server.sendmail("squirrel@oak.example", recipients or ["jay@oak.example"], "Nuts!")


def log_in(port: int) -> None:
    with smtplib.SMTP("127.0.0.1", port, local_hostname="oak", timeout=2.0) as server:
        server.login("squirrel", "sesame")


def failed_by(replies: dict[str, str]) -> Tried:
    with talking(replies) as talker:
        timeout = 0.1 if HANG in replies.values() else 20.0
        told = tried(lambda: send(talker.port, timeout=timeout))
        assert talker.clients == told.tries
    return told


@pytest.mark.parametrize("word", [GREETING, "MAIL", "RCPT", "DATA", MAIL])
@pytest.mark.parametrize("code", [421, 450, 451, 452])
def test_a_reply_of_400_and_above_passes(word: str, code: int) -> None:
    assert failed_by({word: f"{code} later"}).tries == FOUR_TIMES


@pytest.mark.parametrize(
    ("word", "name"),
    [
        (GREETING, "SMTPConnectError"),
        ("MAIL", "SMTPSenderRefused"),
        ("RCPT", "SMTPRecipientsRefused"),
        ("DATA", "SMTPDataError"),
        (MAIL, "SMTPDataError"),
    ],
)
@pytest.mark.parametrize("code", [550, 554])
def test_a_reply_of_500_and_above_does_not(word: str, name: str, code: int) -> None:
    told = failed_by({word: f"{code} never"})
    assert (told.tries, told.why) == (1, f"smtplib.{name} {code}")


@pytest.mark.parametrize("fault", [DROP, HANG])
@pytest.mark.parametrize("word", [GREETING, "EHLO", "MAIL", "RCPT", "DATA", MAIL])
def test_a_lost_connection_passes(word: str, fault: str) -> None:
    assert failed_by({word: fault}).tries == FOUR_TIMES


def test_one_recipient_that_may_pass_is_enough() -> None:
    never = dict.fromkeys(("rcpt TO:<jay@oak.example>", "rcpt to:<jay@oak.example>"), "550 never")
    replies = {"RCPT": "450 later", **never}  # versions of Python differ in how they write it
    both = ("jay@oak.example", "crow@oak.example")
    with talking(replies) as talker:
        told = tried(lambda: send(talker.port, *both))
    assert isinstance(told.failure, smtplib.SMTPRecipientsRefused)
    assert {code for code, _ in told.failure.recipients.values()} == {450, 550}
    assert told.tries == FOUR_TIMES


def test_a_mail_is_not_sent_again_for_what_is_said_to_quit() -> None:
    told = failed_by({"QUIT": "421 too late"})
    why = "smtplib.SMTPResponseException after QUIT, when all had been done"
    assert (told.tries, told.why) == (1, why)
    assert failed_by({"QUIT": "421 too late", MAIL: "451 later"}).tries == FOUR_TIMES
    assert failed_by({"QUIT": "421 too late", MAIL: "550 never"}).tries == 1


def test_a_wrong_password_does_not_pass() -> None:
    for reply, tries in [("535 wrong", 1), ("454 later", FOUR_TIMES)]:
        with talking({"EHLO": AUTHENTICATION, "AUTH": reply}) as talker:
            told = tried(lambda port=talker.port: log_in(port))  # type: ignore[misc]
        assert isinstance(told.failure, smtplib.SMTPAuthenticationError)
        assert told.tries == tries


def test_a_server_without_passwords_does_not_pass() -> None:
    with talking({}) as talker:
        told = tried(lambda: log_in(talker.port))
    assert (told.tries, told.why) == (
        1,
        "smtplib.SMTPNotSupportedError is not known to pass by itself",
    )


def test_another_protocol_does_not_pass() -> None:
    told = failed_by({GREETING: "HTTP/1.1 400 Bad Request"})
    assert (told.tries, told.why) == (1, "smtplib.SMTPConnectError -1")


def test_a_refused_connection_passes() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        assert tried(lambda: send(closed.getsockname()[1])).tries == FOUR_TIMES


def test_a_connection_that_is_kept_between_tries_cannot_come_back() -> None:
    server = smtplib.SMTP(timeout=2.0)
    told = tried(lambda: server.sendmail("squirrel@oak.example", "jay@oak.example", "Nuts!"))
    why = "smtplib.SMTPServerDisconnected: connect anew in each try"
    assert (told.tries, told.why) == (1, why)


def test_each_class_has_a_verdict() -> None:
    passing = {
        name
        for name, kind in inspect.getmembers(smtplib, inspect.isclass)
        if issubclass(kind, smtplib.SMTPException) and known.is_transient(kind.__new__(kind))
    }
    assert passing == {"SMTPServerDisconnected"}
