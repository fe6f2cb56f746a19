"""The command line: a module for each command of `python -m ixbackoff`."""
