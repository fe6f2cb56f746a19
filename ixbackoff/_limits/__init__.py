"""Bounds on a stream of commands that come from outside: deadlines, budgets, no nesting."""
