"""A loop cannot wait: each turn would end one rung lower, and a variable has one type."""

from ixbackoff import N3, Download, Program, at

fetch = Download("http://localhost/a", "a")
urls = ["http://localhost/a", "http://localhost/b"]

program: Program[N3, N3] = at(N3)
for url in urls:
    program = program.do(Download(url, "a")).backoff()  # E: [assignment]

while input():
    program = program >> at(N3).do(fetch).wait()  # E: [operator]

while input():
    program = program | at(N3).do(fetch).skip()  # E: [operator]

while input():
    program = program.bind(lambda _: at(N3).retry(fetch))  # E: [arg-type] [return-value]
