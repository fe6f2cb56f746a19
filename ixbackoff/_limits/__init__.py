"""Limits on a stream of commands from outside: deadlines, budgets, breakers, stops, no nesting."""
