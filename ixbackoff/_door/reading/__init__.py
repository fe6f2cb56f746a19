"""The output of type checkers, and the sources that it names, as `ixbackoff check` parses them."""
