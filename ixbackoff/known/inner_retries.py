"""Retries of other libraries inside of one try, as tracebacks and answers show them.

A loop is found if it was still running when it raised the failure. The table, `inner_retries.toml`,
is right for the versions that the tests install; a loop of another version may not be found.
"""

from __future__ import annotations

import tomllib
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from .._words.verdicts import Inner
from .judging import frames
from .shapes import LONGEST_CHAIN, cause_of, quietly


class Loop(NamedTuple):
    library: str
    counter: str  # the path from one of its variables to its count, such as `state.attempt`
    more: int  # the number of tries minus that count
    remedy: str  # the argument or setting that turns the loop off


URLLIB3 = "urllib3.connectionpool", "urlopen"
"""A function that calls itself for each try: each distinct frame in a traceback is a try."""

BOTOCORE = "botocore.endpoint", "_send_request"


@cache
def loops() -> dict[tuple[str, str], Loop]:
    """Return the loops of `inner_retries.toml` by their modules and functions."""
    with Path(__file__).with_suffix(".toml").open("rb") as file:
        rows = tomllib.load(file)["loop"]
    return {
        (module, function): Loop(row["library"], row["counter"], row.get("more", 0), row["off"])
        for row in rows
        for place in row["functions"]
        for module, _, function in (place.partition(":"),)
    }


@cache
def names() -> set[str]:
    return {name for _, name in (*loops(), URLLIB3)}


def inner(failure: BaseException) -> list[Inner]:
    """Return the retries inside of the try that ended with a failure, the outermost first."""
    found: dict[str, Inner] = {}
    cause: Any = failure
    for _ in range(LONGEST_CHAIN):
        tries: set[object] = set()
        for frame in frames(cause):
            name = frame.f_code.co_name
            if name not in names():
                continue
            place = frame.f_globals.get("__name__", ""), name
            if place == URLLIB3:
                tries.add(frame)
            if (loop := loops().get(place)) is not None:
                add(found, loop.library, tries_of(loop, frame.f_locals), loop.remedy)
        add(found, "urllib3", len(tries), "retries=False")
        answer = quietly(cause, "response")
        if answer.__class__ is dict:
            remedy = loops()[BOTOCORE].remedy
            with suppress(Exception):
                add(found, "botocore", answer["ResponseMetadata"]["RetryAttempts"] + 1, remedy)
        cause = cause_of(cause)
        if cause is None:
            break
    return [*found.values()]


def add(found: dict[str, Inner], library: str, tries: int, remedy: str) -> None:
    if tries > 1 and (library not in found or found[library].tries < tries):
        found[library] = Inner(library, tries, remedy)


def tries_of(loop: Loop, variables: Any) -> int:
    """Return the number of tries of a loop; 0 if another version of it counts in another way."""
    name, *attributes = loop.counter.split(".")
    with suppress(Exception):
        count = variables[name]
        for attribute in attributes:
            count = getattr(count, attribute)
        return int(count) + loop.more
    return 0
