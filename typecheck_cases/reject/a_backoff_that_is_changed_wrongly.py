"""`.replace(...)` takes the arguments of `backoff`, each of its kind, but not the rung."""

from ixbackoff import N2, N3, backoff

patiently = backoff(N3)
patiently.replace(within="2 s")  # E: [arg-type]
patiently.replace(nested="twice")  # E: [arg-type]
patiently.replace(until=3)  # E: [arg-type]
patiently.replace(tries=3)  # E: [call-arg]
patiently.replace(on=3)  # E: [arg-type]
