"""The type checkers, run over many files, and what they print."""
