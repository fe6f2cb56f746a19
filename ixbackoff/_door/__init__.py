"""The command line: commands about programs and type checkers; the table of all commands."""
