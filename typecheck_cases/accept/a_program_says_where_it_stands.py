"""`.at` says where a program stands: for a run behind a `bind` with a lambda that was not called."""

from typing import assert_type

from ixbackoff import FOREVER, N0, N1, N2, N3, Delay, Forever, Log, Program, at

log = Log("hello")

assert_type(at(N3).at(N3).do(log), Program[N3, N3, None, Log])
assert_type(at(N3).do(log).backoff().at(N2), Program[N3, N2, None, Log | Delay])
assert_type(
    at(N2).do(log).bind(lambda _: at(N2).retry(log)).at(N0).or_else(log),
    Program[N2, N0, None, Log | Delay],
)
assert_type(at(N2).wait().or_bind(lambda _: at(N1).do(log)).at(N1), Program[N2, N1, None, Log | Delay])
assert_type(at(FOREVER).at(FOREVER).do(log), Program[Forever, Forever, None, Log])
