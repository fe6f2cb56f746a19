"""A program is a value: its pieces can stand in variables, parameters, results and classes."""

from dataclasses import dataclass
from typing import assert_type

from ixbackoff import N0, N1, N2, N3, Delay, Download, Log, Program, Upload, at


def fetch(url: str) -> Program[N3, N2, None, Download | Delay]:
    return at(N3).do(Download(url, "a")).backoff()


def finish(program: Program[N3, N2, None, Download | Delay]) -> Program[N3, N0]:
    again = at(N2).do(Download("http://localhost/mirror", "a")).backoff()
    return (program | again).skip().do(Upload("a", "memory:///a"))


@dataclass(frozen=True)
class Job:
    name: str
    program: Program[N3, N0]


job = Job("copy", finish(fetch("http://localhost/a")))
assert_type(job.program, Program[N3, N0])
assert_type(job.program.do(Log(job.name)), Program[N3, N0])

upper, lower = at(N3).wait(), at(N2).wait()
assert_type(upper >> lower, Program[N3, N1, None, Delay])
