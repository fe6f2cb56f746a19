"""A server that speaks in lines, as mail and file servers do, and replies by a table."""

from __future__ import annotations

import socket
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Event, Thread

HANG = "hang"
DROP = "drop"
GREETING = "greeting"
MAIL = "."
USUAL = {"DATA": "354 go on", "QUIT": "221 well"}


@dataclass
class Talker:
    """A server: its port, and what its clients said.

    Attributes:
        port: where it listens, on 127.0.0.1.
        replies: from a command, a whole line, `GREETING` or `MAIL` (the end of a mail) to a reply,
            `HANG` or `DROP`; the others get the usual reply of a mail server that is well.
        said: the first word of each line.
        clients: how many came.
    """

    port: int
    replies: Mapping[str, str]
    said: list[str] = field(default_factory=list)
    clients: int = 0
    stopped: Event = field(default_factory=Event)

    def talk(self, client: socket.socket) -> None:
        self.clients += 1
        with client.makefile("r", encoding="latin-1") as lines:
            going_on = self.reply(client, "220 ready", GREETING)
            while going_on and (line := lines.readline().strip()):
                word = line.split()[0].upper()
                self.said.append(word)
                going_on = self.reply(client, USUAL.get(word, "250 well"), line, word)
                if going_on and word == "DATA" and word not in self.replies:
                    while lines.readline().strip() not in (".", ""):
                        pass
                    going_on = self.reply(client, "250 well", MAIL)

    def reply(self, client: socket.socket, usual: str, *asked: str) -> bool:
        """Reply, and return whether the client may go on."""
        reply = next((self.replies[each] for each in asked if each in self.replies), usual)
        if reply == HANG:
            self.stopped.wait(20.0)
        if reply in (HANG, DROP):
            return False
        client.sendall(f"{reply}\r\n".encode())
        return not reply.startswith("421")


@contextmanager
def talking(replies: Mapping[str, str]) -> Generator[Talker]:
    """Start a server on loopback that replies so."""

    def serve(client: socket.socket) -> None:
        with client, suppress(OSError):
            client.settimeout(10.0)
            talker.talk(client)

    def listen() -> None:
        with suppress(OSError):
            while True:
                serving.append(Thread(target=serve, args=(listener.accept()[0],)))
                serving[-1].start()

    serving: list[Thread] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        talker = Talker(listener.getsockname()[1], replies)
        thread = Thread(target=listen)
        thread.start()
        try:
            yield talker
        finally:
            talker.stopped.set()
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
    for each in serving:
        each.join()
