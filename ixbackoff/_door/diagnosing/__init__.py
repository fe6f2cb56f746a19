"""Explanations of the errors of type checkers, for `ixbackoff check`."""
