"""Programs and functions that the command line finds, or refuses, by their names."""

from __future__ import annotations

from typing import Any

from ixbackoff import (
    FOREVER,
    N0,
    N1,
    N2,
    N4,
    Call,
    Do,
    Download,
    Log,
    NotReady,
    Throw,
    at,
    attempt,
    backoff,
    call,
    do,
)
from ixbackoff.schedules import Computed, Constant

from .ways.programs import Ask

page = Download("http://localhost/page", "page.html")
plain = at(N4).retry(page)
limited = at(N4).retry(do(page).limit(5))
partly_limited = at(N1).do(do(page).limit(50)).backoff().or_else(page)
called = at(N4).retry(page).named("copy page")
unknown = at(N2).bind(lambda _: at(N2).end())
endless = at(FOREVER).retry(page)
bounded = backoff(FOREVER, within=30)(print)
skipping = at(N2).do(page).do(page).skip().or_else(page).backoff()
polling = at(N2).do(Log("begin")).wait().do(page).backoff()
open_program = at(N4).do(Log("open"))
well = at(N0).do(call(str, "value"))
data = at(N0).do(call(dict, number=1))
raw = at(N0).do(call(bytes, b"raw"))
odd = at(N0).do(call(object))
bug = at(N4).retry(call(int, "x"))
failing = at(N1).retry(Throw(NotReady("not there")))
slow = at(N4).retry(Throw(NotReady("not there")))
asking = at(N1).retry(Ask("a"))

quick = Constant(0.01)
unusable = Computed(lambda k: -1.0)
number = 3
patiently = backoff(N2, schedule=quick)
mine = Call.handled_by(lambda command: "mine")
asked = Ask.handled_by(lambda command: 7)


async def later(command: Ask) -> int:
    return 8


awaited = Ask.awaited_by(later)


def handlers() -> Any:
    return asked


@patiently
def decorated() -> str:
    return "decorated"


@patiently
async def coroutine() -> str:
    return "awaited"


@patiently
def with_arguments(url: str, path: str) -> str:
    return url + path


def makes() -> Any:
    return plain


def makes_for(url: str) -> Any:
    return at(N2).retry(Download(url, "page.html"))


def makes_nothing() -> int:
    return 3


def fails() -> Any:
    raise KeyError("page")


async def undecorated() -> None:
    return None


@attempt
def reading() -> Do[Log, None]:
    yield from Log("reading")


class Jobs:
    inner = plain
