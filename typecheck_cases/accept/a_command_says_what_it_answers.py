"""A command is data; its type parameter is the type of its answer, which `yield from` gives."""

from dataclasses import dataclass
from typing import assert_type

from ixbackoff import Command, Do, Download, Log, Upload


@dataclass(frozen=True)
class GetETag(Command[str]):
    url: str


class CountRows(Command[int]):
    __slots__ = ()


def ask() -> Do[GetETag | CountRows | Download | Upload | Log, None]:
    assert_type((yield from GetETag("http://localhost/a")), str)
    assert_type((yield from CountRows()), int)
    assert_type((yield from Log("current_command", level=10)), None)
    yield from Download("http://localhost/a", "a")
    yield from Upload("a", "memory:///a")
