"""Limits around a stream of commands: deadlines, budgets, breakers, gates, nesting."""
