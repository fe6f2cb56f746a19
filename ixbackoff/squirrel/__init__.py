"""The squirrel keeps copies of web resources in an object store, and an index of them.

It is the reference pipeline of `ixbackoff`, on real parts. Run it with
`python -m ixbackoff.squirrel`.
"""
