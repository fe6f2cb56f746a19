"""The published experiments, repeated with `ixbackoff.fleet`; each has one file."""
