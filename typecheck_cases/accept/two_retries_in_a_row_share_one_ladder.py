"""A retry after a retry is allowed: no rung is left for it, so it tries once and never waits."""

from typing import assert_type

from ixbackoff import N0, N3, Delay, Download, Program, Upload, at

both = at(N3).retry(Download("http://localhost/a", "a")).retry(Upload("a", "memory:///a"))
assert_type(both, Program[N3, N0, None, Download | Upload | Delay])
