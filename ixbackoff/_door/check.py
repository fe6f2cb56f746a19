"""`python -m ixbackoff check`: the errors of a type checker, explained."""
