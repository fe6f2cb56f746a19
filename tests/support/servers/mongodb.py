"""A server that speaks MongoDB's protocol, OP_MSG, and answers by a table."""

from __future__ import annotations

import socket
import socketserver
import struct
from collections import Counter
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, TypeAlias

import bson

from .threads import in_thread

OP_MSG = 2013
HEADER = struct.Struct("<iiii")
FLAGS_AND_KIND = struct.Struct("<IB")


class Drop(NamedTuple):
    """Close the connection without an answer."""


class Hang(NamedTuple):
    """Keep the connection, and give no answer."""


Answer: TypeAlias = dict[str, Any] | Drop | Hang


def error(code: int, *labels: str, **more: Any) -> dict[str, Any]:
    """Make the answer of a server that refuses."""
    return {"ok": 0, "code": code, "errmsg": "it refused", "errorLabels": [*labels], **more}


class MongoServer(socketserver.ThreadingTCPServer):
    """The primary of a replica set, with nothing in it.

    Attributes:
        answers: what it answers to a command, by the command's name.
        heard: how often it heard each command.
    """

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Talking)
        self.port = int(self.server_address[1])
        self.heard: Counter[str] = Counter()
        self.answers: dict[str, Answer] = {
            "hello": {
                "isWritablePrimary": True,
                "setName": "squirrels",
                "hosts": [f"127.0.0.1:{self.port}"],
                "me": f"127.0.0.1:{self.port}",
                "minWireVersion": 0,
                "maxWireVersion": 21,
                "maxBsonObjectSize": 16_777_216,
                "maxMessageSizeBytes": 48_000_000,
                "maxWriteBatchSize": 100_000,
                "logicalSessionTimeoutMinutes": 30,
            },
            "find": {"cursor": {"id": 0, "ns": "park.nuts", "firstBatch": []}},
            "insert": {"n": 1},
        }

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of connections that the client has closed."""


class Talking(socketserver.BaseRequestHandler):
    """One connection: a command, an answer, and so on."""

    server: MongoServer
    request: socket.socket

    def handle(self) -> None:
        while header := self.request.recv(HEADER.size, socket.MSG_WAITALL):
            length, number, _, _ = HEADER.unpack(header)
            rest = self.request.recv(length - HEADER.size, socket.MSG_WAITALL)
            answer = self.answer(rest[FLAGS_AND_KIND.size :])
            if isinstance(answer, Drop):
                return
            if isinstance(answer, dict):
                document = FLAGS_AND_KIND.pack(0, 0) + bson.encode({"ok": 1, **answer})
                size = HEADER.size + len(document)
                self.request.sendall(HEADER.pack(size, 0, number, OP_MSG) + document)

    def answer(self, message: bytes) -> Answer:
        length = int.from_bytes(message[:4], "little")
        name = next(iter(bson.decode(message[:length])))
        self.server.heard[name] += 1
        return self.server.answers.get(name, {})


def mongo_server() -> AbstractContextManager[MongoServer]:
    """Run such a server on loopback."""
    return in_thread(MongoServer())
