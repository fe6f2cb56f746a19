"""Limits on a stream of commands from outside: deadlines, budgets, breakers, gates, nesting."""
