"""The errors of type checkers: found in their output, parsed, and explained."""
