"""Every command of the row needs a handler, and the waits of a ladder are commands too."""

from ixbackoff import N0, N3, Command, Delay, Download, Interpreter, Log, Standard, at


class GetETag(Command[str]):
    __slots__ = ()


def get_etag(command: GetETag) -> str:
    return repr(command)


tags = GetETag.handled_by(get_etag)
fetches = Download.handled_by(lambda command: None)
waits = Delay.handled_by(lambda command: None)
program = at(N3).retry(GetETag())


def run(standard: Interpreter[Standard]) -> None:
    program.run(standard)  # E: [arg-type]
    at(N0).do(GetETag()).run(standard)  # E: [arg-type]


program.run(tags)  # E: [arg-type]
program.run(waits)  # E: [arg-type]
program.run(fetches | waits)  # E: [operator]
program.then(lambda _: Log("a")).run(tags | waits)  # E: [operator]
at(N0).do(GetETag()).or_else(Log("a")).run(tags)  # E: [arg-type]
at(N3).do(GetETag()).wait().end().run(tags)  # E: [arg-type]
at(N3).do(Log("a")).end().bind(lambda _: at(N0).do(GetETag())).run(tags)  # E: [arg-type]

wider: Interpreter[GetETag | Delay] = tags  # E: [assignment]
