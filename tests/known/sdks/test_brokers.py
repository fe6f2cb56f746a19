"""Failures of brokers and other servers: RabbitMQ (a real one), Kafka, Neo4j, SSH, databricks."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import timedelta
from threading import Thread
from typing import Any

import aio_pika
import confluent_kafka
import neo4j
import paramiko
import pika
import pytest
from databricks.sdk.errors import TooManyRequests
from databricks.sdk.retries import retried

from ixbackoff import is_transient, known

from ...support.clients.tries import Tried, run_tried, tried
from ...support.servers.ports import free_port, silence
from .servers import rabbitmq


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with rabbitmq() as started:
        yield started


def connection(port: int, **more: Any) -> pika.BlockingConnection:
    return pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", port, **more))


def test_pika_without_a_broker() -> None:
    assert tried(lambda: connection(free_port())).tries == 4
    with silence() as silent:
        assert tried(lambda: connection(silent, stack_timeout=0.05)).tries == 4


def test_pika_is_refused(port: int) -> None:
    wrong = pika.PlainCredentials("guest", "hush")
    assert tried(lambda: connection(port, credentials=wrong)).tries == 1
    assert tried(lambda: connection(port, virtual_host="missing")).tries == 1


def on_channel(port: int, use: Callable[[Any], object], cut: bool = False) -> Tried:
    """Use a channel of pika, whose connection may have been cut without notice."""

    def once() -> None:
        opened = connection(port)
        try:
            channel = opened.channel()
            channel.confirm_delivery()
            if cut:
                channel.connection._impl._transport._sock.shutdown(2)
                time.sleep(0.05)
            use(channel)
        finally:
            with suppress(Exception):
                opened.close()

    return tried(once)


def test_a_connection_of_pika_that_is_lost(port: int) -> None:
    ended = on_channel(port, lambda channel: channel.queue_declare("nuts"), cut=True)
    assert ended.tries == 4
    ended = on_channel(port, lambda channel: channel.basic_publish("", "n", b"1"), cut=True)
    assert ended.tries == 1
    assert ended.why == (
        "pika.exceptions.StreamLostError in a publish, which may have been carried out"
    )


def test_a_missing_queue(port: int) -> None:
    ended = on_channel(port, lambda channel: channel.queue_declare("missing", passive=True))
    assert ended.tries == 1


def test_a_broker_that_stops_or_minds() -> None:
    assert is_transient(pika.exceptions.ConnectionClosedByBroker(320, "CONNECTION_FORCED"))
    framed = known.judge(pika.exceptions.ConnectionClosedByBroker(501, "FRAME_ERROR"))
    assert framed.why == "pika.exceptions.ConnectionClosedByBroker 501"


def test_aio_pika(port: int) -> None:
    async def ask(url: str) -> None:
        async with await aio_pika.connect(url) as opened, opened.channel() as channel:
            await channel.get_queue("missing")

    assert run_tried(lambda: ask(f"amqp://guest:guest@127.0.0.1:{free_port()}/")).tries == 4
    assert run_tried(lambda: ask(f"amqp://guest:hush@127.0.0.1:{port}/")).tries == 1
    assert run_tried(lambda: ask(f"amqp://guest:guest@127.0.0.1:{port}/")).tries == 1
    unknown = run_tried(lambda: ask("amqp://nuts.invalid/"))
    assert unknown.why == "aiormq.AMQPConnectionError: the name of the host is not known"


def test_kafka() -> None:
    def ask(servers: str) -> None:
        settings = {"bootstrap.servers": servers, "group.id": "nuts", "log_level": 0}
        with closing(confluent_kafka.Consumer(settings)) as consumer:
            consumer.list_topics(timeout=0.2)

    assert tried(lambda: ask(f"127.0.0.1:{free_port()}")).tries == 4
    kinds = confluent_kafka.KafkaError
    error = confluent_kafka.KafkaException(kinds(kinds.TOPIC_AUTHORIZATION_FAILED))
    assert not is_transient(error)
    assert is_transient(
        confluent_kafka.KafkaException(kinds(kinds.BROKER_NOT_AVAILABLE, "", False, True))
    )


def test_neo4j() -> None:
    def ask(how: str) -> None:
        url = f"bolt://127.0.0.1:{free_port()}"
        settings: Any = {"max_transaction_retry_time": 0}
        with neo4j.GraphDatabase.driver(url, auth=("n", "hush"), **settings) as driver:
            if how == "execute":
                driver.execute_query("RETURN 1")
            with driver.session() as session:
                session.run("RETURN 1").consume()

    assert tried(lambda: ask("execute")).tries == 4
    assert tried(lambda: ask("run")).tries == 4
    assert not is_transient(neo4j.exceptions.AuthError("no"))
    assert is_transient(neo4j.exceptions.SessionExpired("lost in a transaction"))
    assert not is_transient(neo4j.exceptions.IncompleteCommit("lost in a commit"))


def test_a_query_of_neo4j_outside_of_a_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(*_: object, **__: object) -> None:
        raise neo4j.exceptions.SessionExpired("lost after the query was sent")

    monkeypatch.setattr("neo4j._sync.work.session.Session._connect", lost)
    with neo4j.GraphDatabase.driver("bolt://127.0.0.1:1") as driver, driver.session() as session:
        ended = tried(lambda: session.run("CREATE (n)"))
        assert ended.tries == 1
        assert ended.why.endswith(" in session.run, whose query may have been carried out")
        assert tried(session.begin_transaction).tries == 4


class Guard(paramiko.ServerInterface):  # type: ignore[misc]
    """The rules of a real SSH server: nobody has the right password."""

    def check_auth_password(self, username: str, password: str) -> int:  # noqa: ARG002
        return int(paramiko.AUTH_FAILED)

    def get_allowed_auths(self, username: str) -> str:  # noqa: ARG002
        return "password"


@contextmanager
def ssh() -> Iterator[int]:
    """Run an SSH server that refuses each password."""
    key = paramiko.ECDSAKey.generate()
    opened: list[paramiko.Transport] = []

    def serve() -> None:
        with suppress(OSError):
            while True:
                transport = paramiko.Transport(listener.accept()[0])
                opened.append(transport)
                transport.add_server_key(key)
                with suppress(paramiko.SSHException, EOFError):
                    transport.start_server(server=Guard())

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
    thread.join()
    for transport in opened:
        transport.close()


def log_in(port: int) -> None:
    with paramiko.SSHClient() as client:
        client.set_missing_host_key_policy(paramiko.AutoAddPolicy())
        given: Any = {"allow_agent": False, "look_for_keys": False, "banner_timeout": 0.3}
        client.connect("127.0.0.1", port, "squirrel", "hush", **given)


def log_in_strictly(port: int) -> None:
    with paramiko.SSHClient() as client:
        client.connect("127.0.0.1", port, "squirrel", "hush", look_for_keys=False)


def test_paramiko() -> None:
    assert tried(lambda: log_in(free_port())).tries == 4
    with ssh() as port:
        wrong = tried(lambda: log_in(port))
        assert isinstance(wrong.failure, paramiko.AuthenticationException)
        assert wrong.tries == 1
        unknown = tried(lambda: log_in_strictly(port))
        assert "not found in known_hosts" in str(unknown.failure)
        assert unknown.tries == 1


def test_an_ssh_server_that_is_silent() -> None:
    with silence() as silent:
        ended = tried(lambda: log_in(silent))
    assert "banner" in str(ended.failure)
    assert ended.tries == 4


def test_databricks_has_tried_for_minutes_already() -> None:
    def ask() -> None:
        raise TooManyRequests

    ended = tried(retried(timeout=timedelta(seconds=0.01), on=[TooManyRequests])(ask))
    assert ended.tries == 1
    assert ended.why == "TimeoutError after the retries of databricks, which take minutes"
    assert is_transient(TimeoutError())
    assert asyncio.TimeoutError is TimeoutError
