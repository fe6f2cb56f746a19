"""A loop may join pieces that stay on their rung, and may go over programs of one type."""

from typing import assert_type

from ixbackoff import N2, N3, Download, Log, Program, Z, at

urls = ["http://localhost/a", "http://localhost/b"]

program: Program[N3, N3] = at(N3)
for url in urls:
    program = program.do(Download(url, "a"))
    program = program >> at(N3).do(Log(url))
closed: Program[N3, Z] = program.end()

programs: list[Program[N3, Z]] = [at(N3).retry(Download(url, "a")) for url in urls]
for ready in programs:
    assert_type(ready.do(Log("kept")), Program[N3, Z])

steps: list[Program[N2, N2]] = [at(N2).do(Log(url)) for url in urls]
