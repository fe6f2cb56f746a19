"""The ways to run a program, a function or a live command, and what is seen from outside."""
