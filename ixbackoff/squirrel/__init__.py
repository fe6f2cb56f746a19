"""The squirrel keeps copies of web resources in an object store, and an index of them.

The squirrel is the reference pipeline of `ixbackoff`, on a real network, store and database. Run it
with `ixbackoff squirrel`.
"""
