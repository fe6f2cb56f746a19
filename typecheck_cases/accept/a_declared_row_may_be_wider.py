"""A program may be declared to issue more, and to answer something wider, than it does."""

from ixbackoff import N2, N3, Command, Delay, Download, Log, Program, Standard, Z, at


class GetETag(Command[str]):
    __slots__ = ()


# The short form: it answers None and issues standard commands.
short: Program[N3, Z] = at(N3).retry(Download("http://localhost/a", "a"))
same: Program[N3, Z, None, Standard] = short
longer: Program[N3, Z, str, GetETag | Standard] = at(N3).retry(GetETag())
wider: Program[N3, Z, object, GetETag | Standard | Log] = longer
open_still: Program[N3, N2, str | int, GetETag | Delay] = at(N3).do(GetETag()).wait()
