"""The errors of type checkers: taken out of their output, understood, and explained."""
