"""Random programs with a known verdict: for type checkers, and for the library that runs them.

`arithmetic` and `machine` know what is right, by integers; `making` and the `shapes` write programs
as users do; `checking` asks the type checkers, `running` the library.
"""
