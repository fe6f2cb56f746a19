"""Failures of PyMongo, from a server that speaks its protocol."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any, TypeAlias

import pymongo.common
import pymongo.errors
import pytest
from pymongo import AsyncMongoClient, MongoClient
from pymongo.server_api import ServerApi

from ixbackoff import known

from ..support.clients.tries import Tried, run_tried, tried
from ..support.servers.mongodb import Answer, Drop, Hang, MongoServer, error, mongo_server
from ..support.servers.ports import free_port

Client: TypeAlias = "MongoClient[dict[str, Any]]"
Work: TypeAlias = Callable[[Client], object]
OPTIONS: dict[str, Any] = {
    "server_api": ServerApi("1"),
    "serverSelectionTimeoutMS": 1000,
    "socketTimeoutMS": 30,
    "retryReads": False,
}
DUPLICATE: Answer = {"n": 0, "writeErrors": [{"index": 0, "code": 11000, "errmsg": "twice"}]}
IN_A_WRITE = " in a write, which may have been carried out"
IN_A_COMMIT = " in a commit, which may have been carried out"


@pytest.fixture(autouse=True)
def no_rest_between_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a client that lost its server look for it at once, and not after half a second."""
    monkeypatch.setattr(pymongo.common, "MIN_HEARTBEAT_INTERVAL", 0.005)


@pytest.fixture
def server() -> Generator[MongoServer]:
    with mongo_server() as server:
        yield server


@contextmanager
def connected(port: int, **options: Any) -> Generator[Client]:
    client: Client = MongoClient("127.0.0.1", port, **{**OPTIONS, **options})
    with client:
        yield client


def trying(server: MongoServer, work: Work, **options: Any) -> Tried:
    with connected(server.port, **options) as client:
        return tried(lambda: work(client))


def find(client: Client) -> object:
    return client.park.nuts.find_one()


def count(client: Client) -> object:
    return client.park.nuts.count_documents({})


def insert(client: Client) -> object:
    return client.park.nuts.insert_one({})


def insert_two(client: Client) -> object:
    return client.park.nuts.insert_many([{}, {}])


def command(client: Client) -> object:
    return client.park.command("insert", "nuts", documents=[{}])


def transact(client: Client) -> object:
    with client.start_session() as session, session.start_transaction():
        return client.park.nuts.insert_one({}, session=session)


REPLIES: list[tuple[Answer, Work, int, str]] = [
    # a connection that is lost, or an answer that does not come
    (Drop(), find, 4, ""),
    (Drop(), count, 4, ""),
    (Drop(), transact, 4, ""),
    (Drop(), insert, 1, f"AutoReconnect{IN_A_WRITE}"),
    (Drop(), insert_two, 1, f"AutoReconnect{IN_A_WRITE}"),
    (Drop(), command, 1, f"AutoReconnect{IN_A_WRITE}"),
    (Hang(), find, 4, ""),
    (Hang(), insert, 1, f"NetworkTimeout{IN_A_WRITE}"),
    # another primary takes over, or a node shuts down
    (error(10107), find, 4, ""),
    (error(10107), insert, 4, ""),
    (error(91, "RetryableWriteError"), insert, 4, ""),
    (error(6), find, 4, ""),
    (error(6), insert, 1, "OperationFailure (code 6)"),
    (error(6, "RetryableWriteError"), insert, 4, ""),
    # rolled back, or not taken on
    (error(112, "TransientTransactionError"), transact, 4, ""),
    (error(462, "SystemOverloadedError", "RetryableError"), find, 4, ""),
    (error(462, "SystemOverloadedError", "RetryableError"), insert, 4, ""),
    # written, though not as safely as was asked
    ({"n": 1, "writeConcernError": {"code": 64}}, insert, 1, "WriteConcernError (code 64)"),
    (
        {"n": 1, "writeConcernError": {"code": 91}, "errorLabels": ["RetryableWriteError"]},
        insert,
        1,
        f"WriteConcernError{IN_A_WRITE}",
    ),
    (
        {"n": 1, "writeConcernError": {"code": 91}, "errorLabels": ["RetryableWriteError"]},
        insert_two,
        1,
        f"BulkWriteError{IN_A_WRITE}",
    ),
    # what would fail again
    (error(13), find, 1, "OperationFailure (code 13)"),
    (error(50), find, 1, "ExecutionTimeout (code 50)"),
    (error(59), command, 1, "OperationFailure (code 59)"),
    (DUPLICATE, insert, 1, "DuplicateKeyError (code 11000)"),
    (DUPLICATE, insert_two, 1, "BulkWriteError (code 65)"),
]


@pytest.mark.parametrize(("answer", "work", "times", "why"), REPLIES)
def test_an_answer_is_tried_again_if_nothing_was_written(
    server: MongoServer, answer: Answer, work: Work, times: int, why: str
) -> None:
    server.answers.update(dict.fromkeys(["find", "aggregate", "insert"], answer))
    result = trying(server, work, maxAdaptiveRetries=0)
    assert (result.tries, result.why) == (times, why and f"pymongo.errors.{why}")
    assert server.heard["find"] + server.heard["aggregate"] + server.heard["insert"] >= times


def test_each_try_of_a_read_reaches_the_server(server: MongoServer) -> None:
    server.answers["find"] = Drop()
    assert trying(server, find).tries == server.heard["find"] == 4


@pytest.mark.parametrize(
    ("answer", "times", "why"),
    [
        (Drop(), 1, f"AutoReconnect{IN_A_COMMIT}"),
        (Hang(), 1, f"NetworkTimeout{IN_A_COMMIT}"),
        (error(91, "RetryableWriteError"), 1, f"NotPrimaryError{IN_A_COMMIT}"),
        ({"writeConcernError": {"code": 64}}, 1, f"WriteConcernError{IN_A_COMMIT}"),
        (error(251, "TransientTransactionError"), 4, ""),
    ],
)
def test_a_commit_is_tried_again_if_it_was_not_carried_out(
    server: MongoServer, answer: Answer, times: int, why: str
) -> None:
    server.answers["commitTransaction"] = answer
    result = trying(server, transact)
    assert (result.tries, result.why) == (times, why and f"pymongo.errors.{why}")


def test_nobody_at_the_port_is_tried_again() -> None:
    with connected(free_port(), serverSelectionTimeoutMS=20) as client:
        result = tried(lambda: insert(client))
    assert (result.tries, type(result.failure)) == (4, pymongo.errors.ServerSelectionTimeoutError)


def test_a_host_that_is_not_known_is_tried_once() -> None:
    client: Client = MongoClient("nobody.invalid", serverSelectionTimeoutMS=200)
    with client:
        result = tried(lambda: find(client))
    assert result.tries == 1
    assert result.why.endswith(": its host is not known or its certificate does not verify")


def test_a_wrong_password_is_tried_once(server: MongoServer) -> None:
    server.answers["saslStart"] = error(18)
    result = trying(server, find, username="sesame", password="whisper")  # noqa: S106
    assert (result.tries, result.why) == (1, "pymongo.errors.OperationFailure (code 18)")


@pytest.mark.parametrize("url", ["mongodb://park/?nonsense", "nonsense://park", "mongodb://a:b:c"])
def test_a_wrong_url_is_tried_once(url: str) -> None:
    assert tried(lambda: MongoClient(url)).tries == 1


def test_a_full_pool_is_tried_again(server: MongoServer) -> None:
    server.answers["find"] = Hang()
    asked = Event()
    options = {"maxPoolSize": 1, "waitQueueTimeoutMS": 5, "socketTimeoutMS": 400}
    with connected(server.port, **options) as client:

        def hold() -> None:
            asked.set()
            with pytest.raises(pymongo.errors.NetworkTimeout):
                find(client)

        holding = Thread(target=hold)
        holding.start()
        while not server.heard["find"]:
            asked.wait(0.001)
        result = tried(lambda: insert(client))
        holding.join()
    assert (result.tries, type(result.failure)) == (4, pymongo.errors.WaitQueueTimeoutError)


def test_async_clients_are_judged_alike(server: MongoServer) -> None:
    async def work(name: str) -> None:
        client: AsyncMongoClient[dict[str, Any]]
        async with AsyncMongoClient("127.0.0.1", server.port, **OPTIONS) as client:
            if name == "find":
                await client.park.nuts.find_one()
            else:
                await client.park.nuts.insert_one({})

    server.answers.update(find=Drop(), insert=Drop())
    assert run_tried(lambda: work("find")).tries == 4
    assert run_tried(lambda: work("insert")).tries == 1
    server.answers["insert"] = error(10107)
    assert run_tried(lambda: work("insert")).tries == 4


def test_each_class_has_a_verdict() -> None:
    """Without a traceback or labels, those pass that say that nothing was sent or carried out."""
    kinds = [pymongo.errors.PyMongoError]
    passing = set()
    for kind in kinds:
        kinds += kind.__subclasses__()
        failure = kind.__new__(kind)
        failure._error_labels = set()
        if known.is_transient(failure):
            passing.add(kind.__name__)
    assert len(kinds) > 25
    assert passing == {"NotPrimaryError", "ServerSelectionTimeoutError", "WaitQueueTimeoutError"}
