"""`Answering`: a service whose answers are made by the handlers of an interpreter."""

from __future__ import annotations

from functools import cache, partial
from types import NoneType
from typing import Any, NamedTuple, TypeVar, get_args, get_origin

from ..._words.commands import Command, Handler, Handlers, Interpreter, Misuse
from ...testing.scripts import DelayedAnswer, Unscripted
from ..event_queue import Events
from .service import Forwarding, Request, Sender, Service, Serving

ANYTHING: tuple[object, ...] = (Any, object, NoneType)  # types of answers that allow `None`


class Answering(Service):
    """A service with the times and failures of `service`, and the answers of an interpreter.

    Most services of this package answer `None`. Here a handler makes the answer at the time of the
    service's answer; if the handler raises an exception, the request fails with it. Without a
    handler, the service's answer stays if the command's answer type allows `None`; else Misuse is
    raised.

    >>> from ixbackoff import N0, Command, at
    >>> from ixbackoff.fleet import BoundedQueue, simulate
    >>> class GetETag(Command[str]):
    ...     __slots__ = ()
    >>> etags = Answering(BoundedQueue(9, work=0.1), GetETag.handled_by(lambda _: "1a"))
    >>> asking = at(N0).do(GetETag())
    >>> simulate(asking, etags.serves(GetETag), clients=1, seconds=9, trace=True).trace[0].answer
    '1a'

    Args:
        service: the service that decides when a request is answered, and whether it fails.
        interpreter: the handlers that make the answers; `None` if all answers are `None`.
    """

    def __init__(self, service: Service, interpreter: Interpreter[Any] | None = None) -> None:
        self.service = service
        self.handlers: Handlers = {} if interpreter is None else interpreter._handlers

    def begin(self, events: Events) -> Serving:
        return _Answering(self, events)


class _Answering(Forwarding):
    def __init__(self, model: Answering, events: Events) -> None:
        super().__init__(model.service.begin(events))
        self.handler_of = cache(partial(nearest_handler, model.handlers))

    def ask(self, request: Request) -> None:
        kind: Any = request.command.__class__  # mypy takes a class for unhashable
        handler = self.handler_of(kind)
        if handler is not None:
            request._sender = _AnswerMaker(handler, request._sender)
        self.behind.ask(request)


class _AnswerMaker(NamedTuple):
    """A stand-in for the sender of a request: it makes the answer, and passes it on to `sender`."""

    handler: Handler
    sender: Sender

    def settled(self, request: Request, value: Any, failure: Exception | None) -> None:
        if failure is None:
            try:
                value = answered(self.handler, request.command)
            except Misuse:
                raise
            except Exception as error:
                value, failure = None, error
        self.sender.settled(request, value, failure)

    def expired(self, request: Request) -> None:
        self.sender.expired(request)


def nearest_handler(handlers: Handlers, kind: type[Command[Any]]) -> Handler | None:
    """Return the handler of `kind` or its nearest base class; `None` if `kind` needs no handler."""
    for base in kind.__mro__:
        if base in handlers:
            handler: Handler = handlers[base]
            return handler
    answer = answer_type(kind)
    if answer in ANYTHING or NoneType in get_args(answer):  # `None` can answer the command
        return None
    name = "a value" if isinstance(answer, TypeVar) else getattr(answer, "__name__", str(answer))
    raise Misuse(
        f"{kind.__name__} is answered with {name}, and no handler makes one: give an interpreter "
        f"with {kind.__name__}.handled_by(...), on the command line as --answers MODULE:NAME."
    )


def answer_type(kind: type[Command[Any]]) -> object:
    """Return the type of a command's answer from the bases of its class; `Any` if it is unknown."""
    for base in kind.__mro__:
        for generic in vars(base).get("__orig_bases__", ()):
            origin, types = get_origin(generic), get_args(generic)
            if isinstance(origin, type) and issubclass(origin, Command) and types:
                return NoneType if types[0] is None else types[0]
    return Any


def answered(handler: Handler, command: Command[Any]) -> Any:
    try:
        answer = handler(command)
    except Unscripted as error:
        raise Misuse(f"{error}; a fleet needs handlers that answer any number of times.") from None
    if isinstance(answer, DelayedAnswer):
        raise Misuse(f"{answer!r} is for Virtual: here the service decides how long answers take.")
    return answer
