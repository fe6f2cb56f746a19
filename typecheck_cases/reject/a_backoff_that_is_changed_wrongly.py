"""`.but(...)` takes the arguments of `backoff`, each of its kind, but not the rung."""

from ixbackoff import N2, N3, backoff

patiently = backoff(N3)
patiently.but(within="2 s")  # E: [arg-type]
patiently.but(nested="twice")  # E: [arg-type]
patiently.but(until=3)  # E: [arg-type]
patiently.but(tries=3)  # E: [call-arg]
patiently.but(on=3)  # E: [arg-type]
