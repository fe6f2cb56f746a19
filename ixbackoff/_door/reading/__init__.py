"""The errors of type checkers: their parsing and their explanations."""
