"""From `N20` a program can wait twenty times, and every rung on the way has its own type."""

from typing import assert_type

from ixbackoff import N0, N10, N17, N19, N20, Delay, Program, at

upper = at(N20).wait().wait().wait().wait().wait().wait().wait().wait().wait().wait()
lower = at(N10).wait().wait().wait().wait().wait().wait().wait().wait().wait().wait()

assert_type(at(N20).wait(), Program[N20, N19, None, Delay])
assert_type(at(N20).wait().wait().wait(), Program[N20, N17, None, Delay])
assert_type(upper, Program[N20, N10, None, Delay])
assert_type(upper >> lower, Program[N20, N0, None, Delay])
