"""The command line: the commands about programs and type checkers, and the table of all."""
