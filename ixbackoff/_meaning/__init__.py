"""The meaning of a program: one stream of commands, and a plan of it before it runs."""
