"""`on` chooses failures, and nothing else."""

from ixbackoff import N3, Log, NotReady, at

log = Log("hello")


def text(failure: Exception) -> str:
    return "yes"


at(N3).retry(log, on=[NotReady, 3])  # E: [list-item]
at(N3).retry(log, on=3)  # E: [arg-type]
at(N3).retry(log, on=[text])  # E: [list-item]
at(N3).retry(log, on=KeyboardInterrupt)  # E: [arg-type]
