"""Limits set from outside on a stream of commands: deadlines, budgets, no nesting."""
