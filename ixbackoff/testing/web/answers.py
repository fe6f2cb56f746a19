"""Answers: how an origin carries out a request when nothing fails."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import NamedTuple

from .requests import Request
from .resources import Resource

METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE")


class Answer(NamedTuple):
    """An answer of a web server: its status, its headers and its body.

    >>> Answer(200, body=b"acorn")
    Answer(status=200, headers={}, body=b'acorn')
    """

    status: int
    headers: Mapping[str, str] = {}
    body: bytes = b""


def carried_out(request: Request, resources: MutableMapping[str, bytes | Resource]) -> Answer:
    """Carry out a request, as a small web server does.

    `GET`, `HEAD` and `POST` are answered with the resource, `PUT` puts the body in its place, and
    `DELETE` removes it. A `GET` or `HEAD` whose `If-None-Match` names the resource's ETag is
    answered with 304, what is missing with 404, and another method with 405.

    >>> resources: dict[str, bytes | Resource] = {}
    >>> carried_out(Request("PUT", "/a", body=b"acorn"), resources).status
    201
    >>> carried_out(Request("GET", "/a"), resources).body
    b'acorn'
    """
    kept = resources.get(request.path)
    if request.method not in METHODS:
        return Answer(405, {"Allow": ", ".join(METHODS)})
    if request.method == "PUT":
        stored = resources[request.path] = Resource(request.body)
        return Answer(201 if kept is None else 204, stored.all_headers)
    if kept is None:
        return Answer(404)
    if request.method == "DELETE":
        del resources[request.path]
        return Answer(204)
    resource = Resource(kept) if isinstance(kept, bytes) else kept
    headers = resource.all_headers
    if request.method != "POST" and is_known(request, headers.get("ETag")):
        return Answer(304, headers)
    return Answer(200, headers, resource.content)


def is_known(request: Request, etag: str | None) -> bool:
    """Return `True` if `If-None-Match` names this ETag, which is compared weakly."""
    listed = request.headers.get("if-none-match", "").split(",")
    known = [each.strip().removeprefix("W/") for each in listed]
    return etag is not None and ("*" in known or etag.removeprefix("W/") in known)
